/** Whether a recorded outcome may answer a call: the checks of a hit, as one pure function. */
import { chainInDoubt, loopsDiffer } from "../scope/chain.js";
import type { Entry, EntryKind, SiteRecord } from "./entry.js";

/** A call that asks for a recorded outcome. */
export interface Asking {
  kind: EntryKind;
  key: string;
  args: string;
  site: SiteRecord | undefined;
  chain: string;
}

export type Verdict =
  | { hit: true; edited: boolean }
  | { hit: false; reason: "ambiguous"; what: string }
  /** `codeChanged`: since the recording, so that `acceptEdits` would have made it a hit. */
  | { hit: false; reason: "mismatch"; what: string; codeChanged: boolean };

const hit: Verdict = { hit: true, edited: false };
const edited: Verdict = { hit: true, edited: true };

/**
 * @param isSameWay whether code that is as it was came to the call on the way on which it came to the recorded one
 * @param rootChanged whether the workflow's own function is another one than when the run was recorded
 * @param acceptEdits whether the caller of `resume` accepts that arguments changed together with the code
 */
export function judge(
  entry: Entry,
  asking: Asking,
  isSameWay: boolean,
  rootChanged: boolean,
  acceptEdits: boolean,
): Verdict {
  if (entry.kind !== asking.kind) {
    return {
      hit: false,
      reason: "ambiguous",
      what: `The record holds a ${entry.kind} here, the code asks for a ${asking.kind}`,
    };
  }
  if (entry.kind === "wait" && (entry.args ?? "") !== asking.args) {
    return {
      hit: false,
      reason: "ambiguous",
      what: `${describe(asking.site)} has got a \`timeout\` since it was recorded, or has lost it: what it comes to has another shape`,
    };
  }
  if (!isSameWay && chainInDoubt(entry.chain ?? "", asking.chain)) {
    return {
      hit: false,
      reason: "ambiguous",
      what: `The code changed and ${describe(asking.site)} has namesakes in its function, so the recorded outcome of ${describe(entry.site)} may belong to another of them`,
    };
  }
  // Without arguments nothing could tell two iterations apart.
  if (asking.args === "" && hasIteration(asking.key) && loopsDiffer(entry.chain ?? "", asking.chain)) {
    return {
      hit: false,
      reason: "ambiguous",
      what: `A loop has been put around ${describe(asking.site)}, or taken away, so the recorded outcome may be that of another iteration`,
    };
  }
  const sameText = entry.site?.text === asking.site?.text;
  if (!sameText) return edited;
  if ((entry.args ?? "") === asking.args) return hit;
  const codeChanged = rootChanged || entry.site?.moduleText !== asking.site?.moduleText;
  if (codeChanged && acceptEdits) return edited;
  return {
    hit: false,
    reason: "mismatch",
    what: `The recorded outcome is for other arguments: recorded ${entry.args || "(none)"}, asked for ${asking.args || "(none)"}`,
    codeChanged,
  };
}

/** A place in words: `charge (src/flow.ts:12)`. */
export function describe(site: SiteRecord | undefined): string {
  return site === undefined ? "a call with an explicit key" : `\`${site.anchor}\` (${site.module}:${site.line})`;
}

/** Whether an iteration other than the first is on the way of a key. */
function hasIteration(key: string): boolean {
  return key.includes("@");
}
