/** Durations on the command line: `--age 2h`. */
import { type Duration, milliseconds } from "../runtime/calls/duration.js";
import { InvalidArgumentError } from "../runtime/errors.js";
import { UsageError } from "./command.js";

/**
 * @returns milliseconds
 * @throws UsageError
 */
export function durationOption(option: string, text: string): number {
  try {
    return milliseconds(text as Duration, option);
  } catch (fault) {
    if (!(fault instanceof InvalidArgumentError)) throw fault;
    throw new UsageError(`${option} takes a duration such as 2h or 30s, not ${JSON.stringify(text)}`);
  }
}
