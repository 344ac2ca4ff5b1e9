#!/usr/bin/env node
// forge from npm, with its exit code. The package's own wrapper (node_modules/.bin/forge) ends with 0 whatever forge
// ended with, so a failed test would pass for a good one.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";

const architecture = { x64: "amd64", arm64: "arm64" }[process.arch];
const binary = process.platform === "win32" ? "forge.exe" : "forge";
const forge = createRequire(import.meta.url).resolve(
  `@foundry-rs/forge-${process.platform}-${architecture}/bin/${binary}`,
);
const { status, error } = spawnSync(forge, process.argv.slice(2), { stdio: "inherit" });
if (error) throw error;
process.exitCode = status ?? 1; // no status: ended by a signal
