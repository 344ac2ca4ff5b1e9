// Rebuilds everything in this folder that is generated: artifacts/ (ABI, bytecode, compiler input), bind/ (Go) and the
// gas table in README.md (from gas-snapshot.json, which only `npm run gas` rewrites).
// Needs Node and Go; installs the pinned compiler first if it is not there.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { renderGasTable } from "./gas.mjs";

process.chdir(import.meta.dirname);
const run = (command, ...args) => execFileSync(command, args, { stdio: ["ignore", "ignore", "inherit"] });

if (!existsSync("node_modules/solc")) run("npm", "ci", "--silent");
run("node", "build.mjs");

// One package a contract, because abigen names some types without the contract. The bytecode stays out of them: package
// contracts embeds it once, from artifacts/.
const bindings = [
  ["MissionFactory", "missionfactory", "binding.go"],
  ["ServiceToken", "servicetoken", "binding.go"],
  ["SignatureValidator", "signaturevalidator", "binding.go"],
  ["TestUSDC", "testusdc", "token.go"],
  ["TestUSDCProxy", "testusdc", "proxy.go"],
];
rmSync("bind", { recursive: true, force: true });
for (const [type, pkg, file] of bindings) {
  mkdirSync(`bind/${pkg}`, { recursive: true });
  const [abi, out] = [`artifacts/${type}.json`, `bind/${pkg}/${file}`];
  const args = ["--v2", "--pkg", pkg, "--type", type, "--abi", abi, "--out", out];
  run("go", "tool", "-modfile=../tools/go.mod", "abigen", ...args);
}

renderGasTable();
