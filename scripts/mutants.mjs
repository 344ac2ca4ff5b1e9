// Shows that the tests can fail. mutants/*.json lists faults, each with the source text that prevents it and a replacement that
// plants it. Every mutant is compiled through an overlay, so the tree itself never changes, and its test must fail.
// Takes several minutes, so it is not part of `make test`.
//
//   node scripts/mutants.mjs               all of them
//   node scripts/mutants.mjs chain receipt those with one of the words in their file name or fault
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const scratch = mkdtempSync(join(tmpdir(), "mutants-"));

function readMutants(words) {
  const mutants = readdirSync(join(root, "mutants"))
    .filter((name) => name.endsWith(".json"))
    .sort()
    .flatMap((name) =>
      JSON.parse(readFileSync(join(root, "mutants", name), "utf8")).map((mutant) => ({
        ...mutant,
        topic: basename(name, ".json"),
      })),
    );
  const wanted = ({ topic, fault }) => words.some((word) => `${topic} ${fault}`.toLowerCase().includes(word.toLowerCase()));
  return words.length === 0 ? mutants : mutants.filter(wanted);
}

/** Writes the altered file and the overlay that puts it in place of the real one. Returns the overlay's path. */
function plant({ file, old, new: replacement, fault }) {
  const path = join(root, file);
  const source = readFileSync(path, "utf8");
  const parts = source.split(old);
  if (parts.length !== 2) {
    throw new Error(`${file} has the text of "${fault}" ${parts.length - 1} times, want once: ${JSON.stringify(old)}`);
  }
  const altered = join(scratch, "altered.go");
  writeFileSync(altered, parts.join(replacement));
  const overlay = join(scratch, "overlay.json");
  writeFileSync(overlay, JSON.stringify({ Replace: { [path]: altered } }));
  return overlay;
}

/** Runs the mutant's test. GOFLAGS carries the overlay, so a test that builds the binary builds the mutant. */
function run(mutant, overlay) {
  const name = mutant.test.split("/").map((part) => `^(${part})$`).join("/");
  const { stdout, stderr } = spawnSync("go", ["test", "-count=1", "-run", name, "-v", mutant.package], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 1 << 28,
    env: { ...process.env, GOFLAGS: `${process.env.GOFLAGS ?? ""} -overlay=${overlay}`.trim() },
  });
  const output = stdout + stderr;
  if (/\[(build|setup) failed\]/.test(output)) throw new Error(`"${mutant.fault}" does not compile:\n${output.slice(0, 2000)}`);
  if (!/^=== RUN/m.test(output)) throw new Error(`"${mutant.fault}": ${mutant.package} has no test ${mutant.test}`);
  return /^(--- FAIL|FAIL|panic:)/m.test(output);
}

let missed = 0;
const mutants = readMutants(process.argv.slice(2));
try {
  for (const [i, mutant] of mutants.entries()) {
    const caught = run(mutant, plant(mutant));
    if (!caught) missed++;
    console.log(`${String(i + 1).padStart(3)}/${mutants.length}  ${caught ? "caught" : "MISSED"}  ${mutant.topic}: ${mutant.fault} (${mutant.test})`);
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
console.log(`${mutants.length - missed} caught, ${missed} missed`);
process.exit(missed === 0 && mutants.length > 0 ? 0 : 1);
