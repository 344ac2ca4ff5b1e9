// Compiles the deployable contracts and writes contracts/artifacts:
//
//   <Name>.json          the ABI
//   <Name>.bin           the creation bytecode, hex
//   standard-input.json  exactly what the compiler was given; what an explorer needs to verify any of them
//
// The output depends on the sources, foundry.toml and package-lock.json only: two builds are byte-identical.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import solc from "solc";

const root = import.meta.dirname;
const artifacts = join(root, "artifacts");

/** Deployable contracts (SignatureValidator is "deployed" by eth_call only), by source file. */
const deployables = {
  MissionFactory: "src/MissionFactory.sol",
  ServiceToken: "src/ServiceToken.sol",
  SignatureValidator: "src/SignatureValidator.sol",
  TestUSDC: "src/testing/TestUSDC.sol",
  TestUSDCProxy: "src/testing/TestUSDC.sol",
};

/** A value of foundry.toml's default profile, so that forge and this build cannot disagree. */
function setting(name) {
  const toml = readFileSync(join(root, "foundry.toml"), "utf8");
  const match = toml.match(new RegExp(`^${name} = (.+)$`, "m"));
  if (!match) throw new Error(`foundry.toml has no "${name}": set it there, the only place for compiler settings`);
  return JSON.parse(match[1].replaceAll("_", match[1].startsWith('"') ? "_" : ""));
}

function readSource(path) {
  const file = path.startsWith("@") ? join(root, "node_modules", path) : join(root, path);
  return readFileSync(file, "utf8").replaceAll("\r\n", "\n");
}

/** All sources the given files need, found by asking for them the way the compiler would. */
function collectSources(entries) {
  const sources = {};
  const importPath = /^\s*import\s[^"';]*["']([^"']+)["']\s*;/gms;
  const visit = (path) => {
    if (path in sources) return;
    const content = readSource(path);
    sources[path] = { content };
    for (const [, target] of content.matchAll(importPath)) {
      visit(target.startsWith(".") ? join(dirname(path), target) : target);
    }
  };
  entries.forEach(visit);
  return Object.fromEntries(Object.entries(sources).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function standardInput() {
  return {
    language: "Solidity",
    sources: collectSources(Object.values(deployables)),
    settings: {
      optimizer: { enabled: setting("optimizer"), runs: setting("optimizer_runs") },
      evmVersion: setting("evm_version"),
      viaIR: setting("via_ir"),
      metadata: { bytecodeHash: setting("bytecode_hash") },
      outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } },
    },
  };
}

function compile(input) {
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  // Our own sources compile without warnings; those about a library (the guard's use of transient storage) are its own.
  const problems = (output.errors ?? []).filter(
    ({ severity, sourceLocation }) => severity === "error" || !sourceLocation?.file.startsWith("@"),
  );
  if (problems.length > 0) {
    throw new Error(problems.map((problem) => problem.formattedMessage).join("\n"));
  }
  return output.contracts;
}

const json = (value) => JSON.stringify(value, null, 2) + "\n";

const input = standardInput();
const contracts = compile(input);
rmSync(artifacts, { recursive: true, force: true });
mkdirSync(artifacts);
writeFileSync(join(artifacts, "standard-input.json"), json(input));
for (const [name, source] of Object.entries(deployables)) {
  const { abi, evm } = contracts[source][name];
  writeFileSync(join(artifacts, `${name}.json`), json(abi));
  writeFileSync(join(artifacts, `${name}.bin`), evm.bytecode.object + "\n");
}
