// The gas snapshot and its table in README.md.
//
//   node gas.mjs            measures again: rewrites gas-snapshot.json (test/Gas.t.sol does) and the table
//   renderGasTable()        rewrites the table from the snapshot; part of `go generate`, so that the two cannot differ
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = import.meta.dirname;
const readme = join(root, "README.md");
const snapshot = join(root, "gas-snapshot.json");

/** Rows of the table: label, key in the snapshot, and by how many payments to divide. */
const rows = [
  ["create", "create", 1],
  ["settle 1, new holder", "settle1New", 1],
  ["settle 1, existing holder", "settle1Existing", 1],
  ["settle 10 new holders, per head", "settle10New", 10],
  ["settle 10 existing holders, per head", "settle10Existing", 10],
  ["settle 100 new holders, per head", "settle100New", 100],
  ["settle 100 existing holders, per head", "settle100Existing", 100],
  ["close, creator still holds the token", "closeHolder", 1],
  ["close, creator holds none", "closeNonHolder", 1],
  ["reclaim, creator still holds the token", "reclaimHolder", 1],
  ["reclaim, creator holds none", "reclaimNonHolder", 1],
  ["claimDeferred, account holds none", "claimDeferredNonHolder", 1],
  ["revokeAuthorization", "revokeAuthorization", 1],
];

const thousands = (number) => Math.round(number).toString().replace(/\B(?=(\d{3})+$)/g, ",");

export function renderGasTable() {
  const gas = JSON.parse(readFileSync(snapshot, "utf8"));
  const cell = (token, key, heads) => thousands(gas[token][key] / heads);
  const table = [
    "| operation | SERVICE_TOKEN | USDC |",
    "|---|---:|---:|",
    ...rows.map(([label, ...of]) => `| ${label} | ${cell("SERVICE_TOKEN", ...of)} | ${cell("USDC", ...of)} |`),
  ].join("\n");
  const between = /(<!-- gas:begin[^>]*-->\n)[^]*(<!-- gas:end -->)/;
  const text = readFileSync(readme, "utf8");
  if (!between.test(text)) throw new Error("README.md: put the gas:begin and gas:end marks back around the gas table");
  writeFileSync(readme, text.replace(between, `$1${table}\n$2`));
}

if (process.argv[1] === import.meta.filename) {
  execFileSync("node", ["forge.mjs", "test", "--match-contract", "GasTest"], {
    cwd: root,
    env: { ...process.env, UPDATE_GAS_SNAPSHOT: "true" },
    stdio: "inherit",
  });
  renderGasTable();
}
