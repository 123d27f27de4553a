/**
 * The calls that the code has made: each key once. When a step is tried again its body makes its calls again: what is done
 * is used again, what is under way is joined, what failed starts over.
 */
import { type Entry, isOutcome } from "../journal/entry.js";
import type { Call } from "./call.js";
import type { Replay } from "./record/replay.js";

export class AskedCalls {
  private readonly keys = new Set<string>();
  /** Keys of the calls that a step's body has made, by the step's key. */
  private readonly inside = new Map<string, Set<string>>();
  /** Those of them that have started and have no durable outcome. */
  private readonly underWay = new Map<string, Call>();

  constructor(private readonly replay: Replay) {}

  isTaken(key: string): boolean {
    return this.keys.has(key);
  }

  /** @returns whether no other call has the key */
  claim(key: string): boolean {
    const { size } = this.keys;
    return this.keys.add(key).size > size;
  }

  /** @returns the call of that key which an earlier attempt of the body has started, if it is under way */
  noteInside(call: Call): Call | undefined {
    if (call.within === null) return undefined;
    const outer = call.within.key;
    const keys = this.inside.get(outer);
    if (keys === undefined) this.inside.set(outer, new Set([call.key]));
    else keys.add(call.key);
    return this.underWay.get(call.key);
  }

  started(call: Call): void {
    if (call.within !== null) this.underWay.set(call.key, call);
  }

  /** Keeps a durable outcome for the next attempt of the body that asked for it. */
  recorded(call: Call, entry: Entry): void {
    if (call.within === null || !isOutcome(entry.state)) return;
    this.underWay.delete(call.key);
    this.replay.learn(entry);
  }

  /** A step's body begins again: frees the keys of its calls, and of those below. */
  beginAgain(outer: string): void {
    for (const key of this.inside.get(outer) ?? []) {
      this.keys.delete(key);
      this.beginAgain(key);
    }
    this.replay.forgetFailures(outer);
  }

  clear(): void {
    this.keys.clear();
    this.inside.clear();
    this.underWay.clear();
  }

  /** A step is done, so that its body will not ask again. */
  over(outer: string): void {
    for (const key of this.inside.get(outer) ?? []) this.replay.forget(key);
    this.inside.delete(outer);
  }
}

/** The call that is to get an outcome: of the latest attempt of the body that asked for it. */
export function latest(call: Call): Call {
  let found = call;
  while (found.heir !== undefined) found = found.heir;
  return found;
}
