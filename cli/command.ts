/** What a command of `stepmark` is, and how its arguments are read. */
import { type ParseArgsConfig, parseArgs } from "node:util";

export interface Command {
  /** What `stepmark NAME --help` prints. */
  readonly help: string;
  /**
   * @param args what follows the command's name
   * @returns the exit code: 0, or 1 where the command has found something wrong
   * @throws UsageError if it cannot make sense of the arguments
   */
  run(args: readonly string[], output: Output): Promise<number>;
}

/** Where a command writes: each call is one line. */
export interface Output {
  /** Results, to stdout. */
  print(line: string): void;
  /** Everything else, to stderr. */
  warn(line: string): void;
}

/** The arguments make no sense. The message says what was expected. */
export class UsageError extends Error {}

type Options = NonNullable<ParseArgsConfig["options"]>;
type Parsed<T extends Options> = ReturnType<
  typeof parseArgs<{ args: string[]; options: T; allowPositionals: true; strict: true }>
>;

/** @throws UsageError for an option that does not exist, or one without its value */
export function readArguments<const T extends Options>(args: readonly string[], options: T): Parsed<T> {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
