/** How a run ends, here and in the store. */
import type { ErrorPlace } from "../../errors.js";
import type { Codec } from "../../journal/codec.js";
import { encoded } from "../../journal/encoded.js";
import type { ParentCall, RunChange } from "../../stores/store.js";
import { encodeError } from "../live/outcome.js";
import { isOurs } from "./refusals.js";

/** How a run ended in this process. */
export type Ending =
  | { status: "completed"; output: string }
  | { status: "failed"; error: unknown }
  | { status: "cancelled" }
  /** The run waits, and has left memory. */
  | { status: "dormant" }
  /** The run goes on elsewhere, or later: this process only stopped driving it. */
  | { status: "left"; error: Error };

/** What the workflow's function came to. */
export type Result = { ok: true; value: unknown } | { ok: false; error: unknown };

/** What becomes of a run's record when it is cancelled. */
export const cancelled = { status: "cancelled", output: null, error: null, culprits: null, release: true } as const;

/** Tells the run that waits for the end of this one, if one does. */
export function wakeOf(parent: ParentCall | undefined, at: number): Pick<RunChange, "wake"> {
  return parent === undefined ? {} : { wake: { run: parent.id, target: parent.key, at } };
}

/**
 * The end that a result brings about. An output that cannot be kept fails the run.
 *
 * @param place tells the run
 * @param culpritsOf the keys of the failed calls that an error comes from
 */
export function conclude(
  result: Result,
  codec: Codec,
  place: ErrorPlace,
  culpritsOf: (error: unknown) => string[],
): { ending: Ending; change: RunChange } {
  try {
    if (!result.ok) throw result.error;
    const output = encoded(codec, result.value, place);
    return {
      ending: { status: "completed", output },
      change: { status: "completed", output, error: null, culprits: null },
    };
  } catch (error) {
    const text = encodeError(codec, error);
    return {
      ending: { status: "failed", error: isOurs(error) ? error : decodedError(codec, text) },
      change: { status: "failed", output: null, error: text, culprits: culpritsOf(error) },
    };
  }
}

/** The error as every later reader gets it; why it cannot be read, if a type of the user's does not let itself be. */
function decodedError(codec: Codec, text: string): unknown {
  try {
    return codec.decode(text);
  } catch (error) {
    return error;
  }
}
