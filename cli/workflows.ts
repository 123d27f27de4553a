/** The workflows of a built module. */
import { existsSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import type { AnyWorkflow } from "../runtime/calls/workflow.js";
import { isA, wordsOf } from "../runtime/journal/careful.js";
import type { Codec } from "../runtime/journal/codec.js";
import { state } from "../runtime/scope/process-state.js";
import { UsageError } from "./command.js";
import { exitCode } from "./exit-code.js";

/** The option of all commands that run code. */
export const workflowsOption = {
  workflows: {
    type: "string",
    value: "MODULE",
    help: "the built module that exports the workflows, and, if the app has a codec of its own, that as `codec`",
  },
} as const;

export interface LoadedWorkflows {
  workflows: AnyWorkflow[];
  /** The module's export `codec`, if it has one. */
  codec: Codec | undefined;
}

/**
 * Imports a module, and finds its workflows by what they are, whatever they are exported as. When `use` is over, so is the
 * process, whatever the module holds open.
 *
 * @throws UsageError if there is no such file, no workflow in it, or it fails when it is loaded; SyntaxError
 */
export async function withWorkflows<T>(file: string, use: (loaded: LoadedWorkflows) => Promise<T>): Promise<T> {
  try {
    return await use(await loadWorkflows(file));
  } finally {
    leaveSoon();
  }
}

async function loadWorkflows(file: string): Promise<LoadedWorkflows> {
  if (!existsSync(file)) throw new UsageError(`there is no module ${file}`);
  const module = await importModule(file);
  // What CommonJS exports comes as one default export as well.
  const exported = [module, module.default].filter(isObject).flatMap((each) => Object.values(each));
  const workflows = [...new Set(exported.filter(isWorkflow))];
  if (workflows.length === 0) throw new UsageError(`${file} exports no workflow`);
  const { codec } = module;
  return { workflows, codec: isCodec(codec) ? codec : undefined };
}

async function importModule(file: string): Promise<Record<string, unknown>> {
  // A module that awaits what nobody brings: nothing more would be said.
  const stuck = (): void => {
    console.error(`stepmark: ${file} is never loaded to its end: it awaits something. ${ofTheirOwn}`);
    process.exitCode = exitCode.usage;
  };
  process.once("beforeExit", stuck);
  try {
    return (await import(pathToFileURL(path.resolve(file)).href)) as Record<string, unknown>;
  } catch (error) {
    const { code, message } = Object(error) as { code?: unknown; message?: unknown };
    if (code === "ERR_UNKNOWN_FILE_EXTENSION") {
      throw new UsageError(
        `${file} is nothing that Node ${process.versions.node} can load: name what the build has made of it`,
      );
    }
    if (code === "ERR_MODULE_NOT_FOUND") throw new UsageError(`${file} cannot be loaded: ${String(message)}`);
    if (isA(error, SyntaxError)) throw error;
    throw new UsageError(`${file} fails when it is loaded: ${wordsOf(error)}\n${ofTheirOwn}`);
  } finally {
    process.removeListener("beforeExit", stuck);
  }
}

const ofTheirOwn =
  "A module that starts runs, or a server, does so here too: export the workflows from one that does nothing else.";

/**
 * @param recorded whether calls with a place in the code have been recorded
 * @throws UsageError if no code that was loaded has places: each call of it would be refused, and the run would have failed
 */
export function checkTransformed(file: string, recorded: boolean): void {
  if (!recorded || state.modules.size > 0) return;
  throw new UsageError(
    `${file} holds no transformed code, and the run was recorded by such code: name what the build has made. \`stepmark doctor --build FOLDER\` looks at a build`,
  );
}

function isWorkflow(value: unknown): value is AnyWorkflow {
  return typeof value === "function" && typeof (value as Partial<AnyWorkflow>).workflowName === "string";
}

function isCodec(value: unknown): value is Codec {
  if (!isObject(value)) return false;
  const { encode, decode } = value as Partial<Codec>;
  return typeof encode === "function" && typeof decode === "function";
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Ends the process, once its output is written, if something of the application's keeps it from ending by itself. */
function leaveSoon(): void {
  setTimeout(() => {
    if (process.stdout.writableLength + process.stderr.writableLength > 0) leaveSoon();
    else process.exit();
  }, 100).unref();
}
