/**
 * The replay of a record: which recorded outcome may be delivered next, and when the record is used up.
 *
 * Outcomes are delivered in recorded order. One that the code has not asked for yet holds back all later ones, since
 * a branch that asks late (it waits for something raw) must not be overtaken; `lenient` lifts that.
 */

import type { Entry } from "../../journal/entry.js";
import type { Call } from "../call.js";
import type { Named } from "./other-name.js";
import { isOn, type RecordedCall, type RunRecordView, recordedHere } from "./record.js";

export class Replay {
  /** The call that was asked for and awaits delivery with the lowest sequence. */
  private first: Call | undefined;
  /** The others, lowest sequence first. Mostly there is none: an array that is always filled anew is not for nothing. */
  private readonly others: Call[] = [];
  private cursor = 0;
  /** Keys of recorded calls that a step's body made, by the step's key. */
  private readonly inside = new Map<string, Set<string>>();
  /** Keys of recorded failures whose steps were done since. */
  private readonly mended = new Set<string>();
  /** Deliver what was asked for, whatever else the record holds. */
  lenient = false;

  constructor(readonly record: RunRecordView) {
    for (const call of record.calls.values()) this.note(call);
  }

  find(key: string): RecordedCall | undefined {
    return this.record.calls.get(key);
  }

  get isEmpty(): boolean {
    return this.record.calls.size === 0;
  }

  /** Whether it is this call that the record holds under its key, and it has not been asked for. */
  holds({ key, chain }: Named): boolean {
    const recorded = this.find(key);
    return recorded !== undefined && !recorded.asked && recorded.chain === chain;
  }

  /** Adds the outcome of a call that a step's body made in this process. */
  learn(entry: Entry): void {
    const { calls } = this.record;
    const known = calls.get(entry.key);
    // With the outcome its attempts are over: should the call be made again, it begins with the first.
    const call = { ...recordedHere(entry), outcome: entry, asked: true };
    if (known !== undefined) {
      const { again, open } = known;
      Object.assign(call, { again, open });
    }
    calls.set(entry.key, call);
    this.note(call);
  }

  private note({ key, within }: RecordedCall): void {
    if (within === undefined) return;
    const keys = this.inside.get(within);
    if (keys === undefined) this.inside.set(within, new Set([key]));
    else keys.add(key);
  }

  /** Nobody will ask for this call's outcome any more. */
  forget(key: string): void {
    const { calls } = this.record;
    const within = calls.get(key)?.within;
    if (within !== undefined) this.inside.get(within)?.delete(key);
    calls.delete(key);
    this.inside.delete(key);
  }

  /** Failures of calls that the body of step `outer` made, and of those below, are not used again. */
  forgetFailures(outer: string): void {
    for (const key of this.inside.get(outer) ?? []) {
      const call = this.record.calls.get(key)!;
      if (call.outcome?.state === "done") continue;
      const again = call.again || call.outcome !== undefined;
      // Not changed in place: it may be in line for delivery to the attempt that is over.
      this.record.calls.set(key, { ...call, outcome: undefined, again });
      this.forgetFailures(key);
    }
  }

  /** Puts a call with a recorded outcome in line. */
  ask(call: Call): void {
    const { first } = this;
    if (first === undefined) this.first = call;
    else if (seqOf(call) < seqOf(first)) {
      this.first = call;
      this.others.unshift(first);
    } else this.putBehind(call);
  }

  private putBehind(call: Call): void {
    const seq = seqOf(call);
    let low = 0;
    let high = this.others.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (seqOf(this.others[middle]!) < seq) low = middle + 1;
      else high = middle;
    }
    if (low === this.others.length) this.others.push(call);
    else this.others.splice(low, 0, call);
  }

  /** Takes the next call to deliver, if there is one that nothing holds back. */
  take(): Call | undefined {
    const { first } = this;
    if (first === undefined) return undefined;
    if (!this.lenient) {
      const missing = this.firstMissing();
      if (missing !== undefined && missing.seq < seqOf(first)) return undefined;
    }
    this.first = this.others.length === 0 ? undefined : this.others.shift();
    return first;
  }

  /**
   * The outcome of a call has been delivered. The run's own code does not ask for it again, as a step's body may that is tried
   * again: only that there is one is kept of it.
   */
  spend(call: RecordedCall): void {
    const { within, outcome } = call;
    if (within !== undefined || outcome?.state !== "done" || outcome.kind === "changed") return;
    call.outcome = spent;
    call.open = undefined;
    call.chain = "";
  }

  /** The first call in line, held back or not. */
  peek(): Call | undefined {
    return this.first;
  }

  /** Whether something that the record requires has not been asked for or delivered yet. */
  get unfinished(): boolean {
    return this.first !== undefined || (!this.lenient && this.firstMissing() !== undefined);
  }

  /** Required calls that the code has not asked for. */
  missing(): RecordedCall[] {
    return this.record.timeline.filter(awaited);
  }

  /** All recorded calls that the code has not asked for, but for those of answered steps' bodies. */
  orphans(): RecordedCall[] {
    return [...this.record.calls.values()].filter(
      (call) => call.within === undefined && !call.asked && !isChange(call),
    );
  }

  /**
   * Whether the record holds something that this pass has not come past. What an edit has left behind does not count, nor
   * what had followed from a failure that is mended.
   *
   * @param counts whether a call is to be looked at
   */
  goesOn(counts: (call: RecordedCall) => boolean): boolean {
    if (this.first !== undefined && [this.first, ...this.others].some(({ recorded }) => counts(recorded!))) return true;
    for (const call of this.record.calls.values()) if (!call.asked && this.isAhead(call) && counts(call)) return true;
    return false;
  }

  private isAhead(call: RecordedCall): boolean {
    if (call.required) return true;
    if (call.excused || isChange(call)) return false;
    if (call.within !== undefined) return !this.isAnswered(call.key);
    const detours = this.record.detours.filter((detour) => isOn(detour, call));
    return detours.length === 0 || !detours.every(({ key }) => this.isMended(key));
  }

  private isMended(key: string): boolean {
    return this.mended.has(key) || this.find(key)?.outcome?.state === "done";
  }

  /** A step whose failure is recorded has been done. */
  mend(key: string): void {
    this.mended.add(key);
  }

  /**
   * What the code has not asked for of what it is to use again: calls of the run itself, and what was done in step
   * bodies that are to run again.
   */
  unasked(): RecordedCall[] {
    return this.record.timeline.filter(({ asked }) => !asked).concat(this.spared().filter(({ within }) => within));
  }

  /** What was done and not asked for, whether or not the code is to use it again. */
  spared(): RecordedCall[] {
    return [...this.record.calls.values()].filter(
      ({ key, within, outcome, asked }) =>
        !asked &&
        (outcome?.state === "done" || (outcome?.state === "failed" && within === undefined)) &&
        (within === undefined || !this.isAnswered(key)),
    );
  }

  /** Whether a step around a call is answered by the record. */
  private isAnswered(key: string): boolean {
    for (let end = key.lastIndexOf("/"); end > 0; end = key.lastIndexOf("/", end - 1)) {
      if (this.record.calls.get(key.slice(0, end))?.outcome !== undefined) return true;
    }
    return false;
  }

  clear(): void {
    const { calls, timeline, sites } = this.record;
    calls.clear();
    sites.clear();
    timeline.length = this.others.length = 0;
    this.first = undefined;
    this.inside.clear();
  }

  /** These need not be asked for any more. */
  excuse(calls: Iterable<RecordedCall>): void {
    for (const call of calls) Object.assign(call, { required: false, excused: true });
  }

  private firstMissing(): RecordedCall | undefined {
    const { timeline } = this.record;
    while (this.cursor < timeline.length && !awaited(timeline[this.cursor]!)) this.cursor++;
    return timeline[this.cursor];
  }
}

/** What is left of an outcome. */
const spent: Entry = { seq: 0, key: "", kind: "step", state: "done", attempt: 1, startedAt: 0, endedAt: 0 };

function seqOf(call: Call): number {
  return call.recorded!.seq;
}

function awaited({ required, asked }: RecordedCall): boolean {
  return required && !asked;
}

/** Whether it is the answer to `changed`. */
function isChange({ outcome }: RecordedCall): boolean {
  return outcome?.kind === "changed";
}
