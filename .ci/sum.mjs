/**
 * `node sum.mjs N < LOG`: adds up the closing lines of test commands (`3 passed, 1 failed, 0 skipped`) and prints their sum as one
 * more. A command without one has not come to its end: with fewer than N lines, those that are missing count as failed.
 */
import { readFileSync } from "node:fs";
import process from "node:process";

const closing = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\r?$/gm;
const lines = [...readFileSync(0, "utf8").matchAll(closing)];
const sum = (group) => lines.reduce((total, line) => total + Number(line[group] ?? 0), 0);
const failed = sum(2) + Math.max(0, Number(process.argv[2]) - lines.length);
console.log(`${sum(1)} passed, ${failed} failed, ${sum(3)} skipped`);
process.exitCode = failed > 0 ? 1 : 0;
