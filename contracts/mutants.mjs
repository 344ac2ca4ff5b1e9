// Shows that the tests can fail. Plants one bug at a time in a copy of MissionFactory and runs the test file that must
// fail; a bug that no test notices is an error. Takes a few minutes, so it is not part of `make test`.
//
//   node mutants.mjs            all of them
//   node mutants.mjs twice cap  those with one of the words in their name
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(fileURLToPath(import.meta.url));
const source = "src/MissionFactory.sol";

/** What is wrong, the correct code (occurs exactly once; `$&` repeats it), what it becomes, which test file fails. */
const mutants = [
  ["a slot is paid twice", "bits |= bit;", "", "Invariant"],
  ["a slot of another bitmap word is paid twice", "paidSlots[word] = bits;\n                word", "word", "Settle"],
  ["any slot exists", "slot >= targetCount", "slot >= 1e6", "Settle"],
  ["a closed mission pays", "if (closed != CloseReason.None)", "if (false)", "Settle"],
  ["a mission never ends", "mission.closed = reason;", "", "Invariant"],
  ["the refund forgets what was paid", "(targetCount - paidCount)", "targetCount", "Invariant"],
  ["a close fits any count", "paidCount != actual", "paidCount > targetCount", "Close"],
  ["a reclaim is a second early", "timestamp < mission.reclaimAfter", "timestamp + 1 < mission.reclaimAfter", "Close"],
  ["a pause locks the creator in", "reclaim(bytes32 missionKey) external", "$& whenNotPaused", "Close"],
  ["a credit is paid again and again", "deferred[token][account] = 0;", "", "SettleDeferral"],
  ["a relayer can starve a payout", "left < offered / 4", "false", "SettleDeferral"],
  ["anybody settles", "!hasRole(role, signer)", "signer == address(0)", "SettleSignature"],
  ["anybody sends a creator's quote", "msg.sender != authorization.creator", "false", "CreateSignature"],
  ["the deadline is not signed", "                    authorization.deadline", "uint256(0)", "CreateSignature"],
  ["a deadline never passes", "block.timestamp > deadline", "false", "Create"],
  ["a revoked nonce is good", "if (revoked[msg.sender][authorization.nonce])", "if (false)", "Create"],
  ["the token's word is taken for money", "received != amount", "received > amount", "Create"],
  ["the cap is not charged", "_chargeDailyCap(token, reward * taken.length);", "", "Cap"],
  ["the cap outlives midnight", "cap.day == today ? cap.spent : 0", "cap.spent", "Cap"],
  ["claims can be re-entered", "address account) external nonReentrant", "address account) external", "Reentrancy"],
];

function makeCopy() {
  const copy = mkdtempSync(join(tmpdir(), "mutants-"));
  for (const name of ["src", "test", "foundry.toml", "solc.mjs", "package.json"]) {
    cpSync(join(root, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  return copy;
}

function plant(original, [name, correct, wrong]) {
  const occurrences = original.split(correct).length - 1;
  if (occurrences !== 1) {
    throw new Error(`${source} has ${occurrences} times ${JSON.stringify(correct)}: bring "${name}" in line with it`);
  }
  return original.replace(correct, wrong);
}

/** The first failed test, undefined when all have passed. Anything else, as a source that does not compile, throws. */
function firstFailure(copy, file) {
  const forge = [join(root, "forge.mjs"), "test", "--match-path", `test/${file}.t.sol`];
  const { status, stdout, stderr } = spawnSync(process.execPath, forge, {
    cwd: copy,
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  if (status === 0) return undefined;
  const lines = stdout.split("\n");
  const at = lines.findIndex((line) => line.startsWith("[FAIL"));
  if (at < 0) throw new Error(`forge test ended with ${status} and no failed test:\n${stdout}${stderr}`);
  // An invariant's name comes after the calls that led to the failure.
  const test = lines.slice(at).map((line) => line.match(/\b((?:test|testFuzz|invariant)_\w+)\(/)).find(Boolean);
  return `${test?.[1]} ${lines[at].match(/^\[FAIL[^\]]*\]?/)[0].slice(0, 100)}`;
}

const words = process.argv.slice(2);
const chosen = mutants.filter(([name]) => words.length === 0 || words.some((word) => name.includes(word)));
const original = readFileSync(join(root, source), "utf8");
const copy = makeCopy();
let missed = 0;
try {
  for (const mutant of chosen) {
    const [name, , , file] = mutant;
    writeFileSync(join(copy, source), plant(original, mutant));
    rmSync(join(copy, "cache/invariant"), { recursive: true, force: true });
    const failure = firstFailure(copy, file);
    if (failure === undefined) missed += 1;
    console.log(failure === undefined ? `MISSED  ${name}: ${file} passes` : `caught  ${name}: ${failure}`);
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
console.log(`${chosen.length - missed} of ${chosen.length} planted bugs caught`);
process.exitCode = missed === 0 && chosen.length > 0 ? 0 : 1;
