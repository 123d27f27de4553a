/** What a command of `stepmark` is. Its words are data: its arguments are read by them, and its help and the shells' completion made of them. */
import { type ParseArgsConfig, parseArgs } from "node:util";
import type { Look } from "./look.js";
import type { Ask } from "./question.js";

export interface Option {
  readonly type: "string" | "boolean";
  readonly multiple?: boolean;
  readonly default?: string;
  /** What stands for the value in the help, and says how a shell completes it: `FILE`, `FOLDER`, `RUN`, ... */
  readonly value?: string;
  /** The values that it takes; any, if left out. */
  readonly choices?: readonly string[];
  readonly help: string;
}

export type Options = Readonly<Record<string, Option>>;

export interface Command<T extends Options = Options> {
  /** What follows `stepmark`, one line for each form. */
  readonly usage: readonly string[];
  /** What it does. Paragraphs are set apart by an empty line; lines that begin with a space stay as they are. */
  readonly about: string;
  /** What follows the name, in order: each with its help. Its name says how a shell completes it, as with options. */
  readonly arguments?: Readonly<Record<string, string>>;
  readonly options: T;
  /** What its exit code says, where that is more than 0 and 2. */
  readonly ends?: string;
  /**
   * @returns the exit code: 0, or another one as `ends` says
   * @throws UsageError if it cannot make sense of the arguments
   */
  run(given: Given<T>, output: Output): Promise<number>;
}

/** Where a command writes, each call one line, and whom it asks. */
export interface Output {
  /** Results, to stdout. */
  print(line: string): void;
  /** Everything else, to stderr. */
  warn(line: string): void;
  /** How stdout is written to. */
  readonly look: Look;
  /** Undefined where nobody is there to answer. */
  readonly ask: Ask | undefined;
}

/** The arguments make no sense. The message says what was expected. */
export class UsageError extends Error {}

type Parsed<T extends Options> = ReturnType<
  typeof parseArgs<{ args: string[]; options: Writable<T>; allowPositionals: true; strict: true }>
>;
type Writable<T> = { -readonly [Name in keyof T]: { -readonly [Field in keyof T[Name]]: T[Name][Field] } };

/** What the user wrote after the command's name. */
export type Given<T extends Options> = Pick<Parsed<T>, "values" | "positionals">;

/** Gives a command the types of its options. */
export function command<const T extends Options>(definition: Command<T>): Command<T> {
  return definition;
}

/** @throws UsageError for an option that does not exist, one without its value, or with one that it does not take */
export function readArguments<T extends Options>(args: readonly string[], options: T): Given<T> {
  const given = parse(args, options);
  for (const [name, { choices }] of Object.entries(options)) {
    const values = [(given.values as Record<string, unknown>)[name] ?? []].flat();
    const wrong = choices && values.find((value) => !choices.includes(value as string));
    if (wrong !== undefined) throw new UsageError(`--${name} takes ${listed(choices!)}, not ${JSON.stringify(wrong)}`);
  }
  return given as Given<T>;
}

function parse(args: readonly string[], options: Options): { values: object; positionals: string[] } {
  try {
    const config = options as NonNullable<ParseArgsConfig["options"]>;
    return parseArgs({ args: [...args], options: config, allowPositionals: true, strict: true });
  } catch (error) {
    const { message } = error as Error;
    const [, name] =
      /^Option '(?:-\w, )?--([\w-]+)(?: <value>)?' argument (?:missing|is ambiguous)/.exec(message) ?? [];
    if (name !== undefined)
      throw new UsageError(`--${name} has to be followed by ${options[name]?.value ?? "a value"}`);
    // Without Node's advice on how such a word could be no option.
    throw new UsageError(message.replace(/\. To specify a positional argument[\s\S]*$/, ""));
  }
}

/** `"a"`, `"b" or "c"`. */
export function listed(values: readonly string[]): string {
  const all = values.map((value) => JSON.stringify(value));
  return all.length < 2 ? all.join() : `${all.slice(0, -1).join(", ")} or ${all.at(-1)}`;
}
