// Compiles Accounts.sol to accounts.json: name -> creation code. The compiler is the contracts' own, so install it first
// (make setup).
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

process.chdir(import.meta.dirname);
const input = {
  language: "Solidity",
  sources: { "Accounts.sol": { content: readFileSync("Accounts.sol", "utf8") } },
  settings: {
    optimizer: { enabled: true, runs: 200 },
    evmVersion: "osaka",
    metadata: { appendCBOR: false },
    outputSelection: { "*": { "*": ["evm.bytecode.object"] } },
  },
};
const compiler = "../../contracts/solc.mjs";
const output = JSON.parse(execFileSync("node", [compiler], { input: JSON.stringify(input), encoding: "utf8" }));
const errors = (output.errors ?? []).filter(({ severity }) => severity === "error");
if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join("\n"));

const code = Object.entries(output.contracts["Accounts.sol"]).map(([name, { evm }]) => [name, `0x${evm.bytecode.object}`]);
writeFileSync("accounts.json", JSON.stringify(Object.fromEntries(code), null, 2) + "\n");
