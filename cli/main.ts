#!/usr/bin/env node
/** The command line: `stepmark COMMAND ...`. Each command is a file in `commands/`. */
import module from "node:module";
import process from "node:process";
import { RunOwnedError, StepmarkError } from "../runtime/errors.js";
import { LockFileError, TransformerOptionsError } from "../transformer/errors.js";
import { version } from "../transformer/version.js";
import { type Command, type Output, readArguments, UsageError } from "./command.js";
import { commandGroups, commands } from "./commands.js";
import { cureFor } from "./cures.js";
import { exitCode } from "./exit-code.js";
import { helpOf, overview, usageOf } from "./help.js";
import { lookOf } from "./look.js";
import { Questions } from "./question.js";

async function main([name, ...args]: readonly string[], output: Output): Promise<number> {
  if (name === "help" && args[0] !== undefined) return main([args[0], "--help"], output);
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    output.print(overview(commandGroups));
    return name === undefined ? exitCode.usage : exitCode.ok;
  }
  if (name === "--version" || name === "-v") {
    output.print(version());
    return 0;
  }
  const entry = commands.find((each) => each.name === name);
  if (entry === undefined) {
    output.warn(`stepmark: there is no command ${JSON.stringify(name)}\n\n${overview(commandGroups)}`);
    return exitCode.usage;
  }
  const command = await entry.load();
  if (args.includes("--help") || args.includes("-h")) {
    output.print(helpOf(command, output.look.width));
    return 0;
  }
  return runCommand(name, command, args, output);
}

async function runCommand(name: string, command: Command, args: readonly string[], output: Output): Promise<number> {
  try {
    return await command.run(readArguments(args, command.options), output);
  } catch (error) {
    if (error instanceof UsageError) {
      output.warn(
        `stepmark ${name}: ${error.message}\n\n${usageOf(command)}\n\n\`stepmark ${name} --help\` tells more.`,
      );
      return exitCode.usage;
    }
    // Errors that are meant for the user need no stack.
    if (!(error instanceof StepmarkError || error instanceof TransformerOptionsError || error instanceof LockFileError))
      throw error;
    output.warn(`stepmark ${name}: ${error.message}`);
    const cure = cureFor(error);
    if (cure !== undefined) output.warn(`On the command line: ${cure}`);
    return error instanceof RunOwnedError ? exitCode.owned : exitCode.wrong;
  }
}

// Where Node can (22.1), it keeps what it makes of the compiler's text, so that the next command loads it faster.
(module as { enableCompileCache?(): unknown }).enableCompileCache?.();

// Whoever reads the output may have had enough of it: `stepmark events RUN | head`.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit();
  throw error;
});

const questions = new Questions(process.stdin, process.stderr);
process.exitCode = await main(process.argv.slice(2), {
  print: (line) => console.log(line),
  warn: (line) => console.error(line),
  look: lookOf(process.stdout),
  ask: process.stdin.isTTY ? questions.ask : undefined,
}).finally(() => questions.close());
