#!/usr/bin/env node
// A native-looking `solc` around the npm compiler, for forge: `--version` prints the version line, anything else
// compiles the standard JSON input on stdin. It never looks at the file system: forge sends all sources along.
import { text } from "node:stream/consumers";
import solc from "solc";

if (process.argv.includes("--version")) {
  console.log(`solc, the solidity compiler commandline interface\nVersion: ${solc.version()}`);
} else {
  process.stdout.write(solc.compile(await text(process.stdin)));
}
