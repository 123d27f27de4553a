#!/usr/bin/env node
/** The command line: `stepmark COMMAND ...`. Each command is a file in `commands/`. */
import process from "node:process";
import { StepmarkError } from "../runtime/errors.js";
import { TransformerOptionsError } from "../transformer/errors.js";
import { version } from "../transformer/version.js";
import { type Command, type Output, UsageError } from "./command.js";

interface Entry {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** Commands are loaded when they are used: some need the compiler, which takes its time. */
  load(): Promise<Command>;
}

const commands: readonly Entry[] = [
  {
    name: "transform",
    summary: "writes transformed sources, for tools that have no hook",
    load: async () => (await import("./commands/transform.js")).transform,
  },
];

/** Exit code for a command line that makes no sense. */
const USAGE = 2;

async function main([name, ...args]: readonly string[], output: Output): Promise<number> {
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    output.print(overview());
    return name === undefined ? USAGE : 0;
  }
  if (name === "--version" || name === "-v") {
    output.print(version());
    return 0;
  }
  const entry = commands.find((each) => each.name === name);
  if (entry === undefined) {
    output.warn(`stepmark: there is no command ${JSON.stringify(name)}\n\n${overview()}`);
    return USAGE;
  }
  const command = await entry.load();
  if (args.includes("--help") || args.includes("-h")) {
    output.print(command.help);
    return 0;
  }
  return runCommand(name, command, args, output);
}

async function runCommand(name: string, command: Command, args: readonly string[], output: Output): Promise<number> {
  try {
    return await command.run(args, output);
  } catch (error) {
    if (error instanceof UsageError) {
      output.warn(`stepmark ${name}: ${error.message}\n\n${command.help}`);
      return USAGE;
    }
    // Errors that are meant for the user need no stack.
    if (!(error instanceof StepmarkError || error instanceof TransformerOptionsError)) throw error;
    output.warn(`stepmark ${name}: ${error.message}`);
    return 1;
  }
}

function overview(): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  return [
    "Usage: stepmark COMMAND ...",
    "",
    ...lines,
    "",
    "`stepmark COMMAND --help` tells more; `stepmark --version` tells which this is.",
  ].join("\n");
}

process.exitCode = await main(process.argv.slice(2), {
  print: (line) => console.log(line),
  warn: (line) => console.error(line),
});
