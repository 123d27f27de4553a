/**
 * Whether the code may have what the record holds for it, and may go on where the record does not: each call is checked as
 * it is asked for, and what nobody has asked for is judged before a body starts. All that is found is told as the error
 * that the run is to end with.
 */
import type { Entry } from "../../journal/entry.js";
import { judge } from "../../journal/judge.js";
import type { Origins } from "../../scope/origins.js";
import type { Call } from "../call.js";
import {
  anotherPath,
  anotherValue,
  anotherWay,
  enteredByBody,
  enteredInAnotherOrder,
  notAHit,
  retiredSites,
  sameWorkElsewhere,
  shiftedSite,
  uncertainSites,
} from "../end/refusals.js";
import type { Acceptance } from "./acceptance.js";
import { argumentsTell } from "./arguments-tell.js";
import { changedPlaces, isAnothers, isFromBodyInside, mayHaveChangedPlaces, siteInClosure } from "./closure-order.js";
import type { EditedCode } from "./edited-code.js";
import { type Asker, type AskingPlace, ownKey } from "./own-key.js";
import { isOn, type RecordedCall } from "./record.js";
import type { Replay } from "./replay.js";

export class Checks {
  /** Keys of calls that were answered although their text has changed. */
  readonly edited: string[] = [];
  /** Calls in closures that were answered with what another caller's entry had come to, and the frames of the entries that made them. */
  private readonly displaced = new Map<string, Set<string>>();
  /** Those that the record does not know. */
  private readonly unknown = new Map<string, Set<string>>();

  /** @param id of the run, for messages */
  constructor(
    private readonly id: string,
    private readonly replay: Replay,
    private readonly code: EditedCode,
    private readonly acceptance: Acceptance,
    private readonly origins: Origins,
  ) {}

  /** The key of a call: that of its place, or, where the run is to go on though another call is recorded there, one of its own. */
  keyOf({ key, chain, entry, record }: AskingPlace, args: string, origins?: string): string {
    if (!this.acceptance.isOfAnyDivergence) return key;
    const call = { key, chain, entry, site: record, args, origins };
    const recorded = this.replay.find(call.key);
    if (recorded === undefined || recorded.asked) return call.key;
    const own = ownKey(call);
    if (this.replay.find(own) !== undefined) return own;
    return this.acceptance.ofDivergence(recorded.seq) && this.isAnother(call, recorded) ? own : call.key;
  }

  /** Whether a call of code that is as it was is another one than the one that is recorded under its key. */
  private isAnother(call: Asker, recorded: RecordedCall): boolean {
    if (this.code.changedSince(recorded)) return false;
    const entry = recorded.outcome ?? recorded.open;
    if (((entry ?? recorded).args ?? "") !== call.args || this.code.compareWays(call, recorded) === "another")
      return true;
    if (entry === undefined) return false;
    return isAnothers(call, entry) || this.originOfAnother(call, recorded, entry) !== undefined;
  }

  /** Why a call must not have what is recorded under its key. */
  refusalOf(call: Call, recorded: RecordedCall): Error | undefined {
    const entry = recorded.outcome ?? recorded.open;
    if (entry === undefined) return undefined;
    const { id } = this;
    const way = this.code.compareWays(call, recorded);
    // What was accepted is a path of before: not one that this very process has taken.
    if (way === "another" && (recorded.here || !this.acceptance.ofDivergence(entry.seq)))
      return anotherWay(id, call, recorded, this.followsFailure(recorded));
    const mayAccept = this.acceptance.ofEdits(entry.seq);
    const verdict = judge(entry, call, way === "same", this.code.rootChangedSince(recorded), mayAccept);
    if (!verdict.hit) return notAHit(id, call, recorded, verdict, this.followsFailure(recorded));
    if (this.code.isShifted(call, recorded)) return shiftedSite(id, call, recorded);
    const origin = this.acceptance.ofDivergence(entry.seq) ? undefined : this.originOfAnother(call, recorded, entry);
    if (origin !== undefined) return anotherValue(id, call, recorded, origin, this.followsFailure(recorded));
    if (changedPlaces(call, entry, this.replay.record)) return enteredInAnotherOrder(id, call);
    // Without that failure branches may have queued in another order.
    if (this.followsFailure(recorded) && mayHaveChangedPlaces(call, entry, this.replay.record))
      return enteredInAnotherOrder(id, call);
    if (isAnothers(call, entry)) {
      if (isFromBodyInside(call, entry)) return enteredByBody(id, call, entry.within!);
      note(this.displaced, call);
      if (isOfOthers(this.unknown, call)) return enteredInAnotherOrder(id, call);
    }
    if (verdict.edited) this.edited.push(call.key);
    return undefined;
  }

  /**
   * Where the value comes from that a call was recorded with, if code that is as it was gives it another one now, and nothing
   * else says what it is about: connections may be given to calls in any order, jobs not.
   */
  private originOfAnother(call: Asker, recorded: RecordedCall, entry: Entry): string | undefined {
    const origin = this.origins.another(entry.origins, call.origins);
    if (origin === undefined || this.code.changedSince(recorded)) return undefined;
    return argumentsTell(call, this.replay.record) ? undefined : origin;
  }

  /** Why a call that the record does not know must not be made: another entry was answered with what may belong to this one. */
  refusalOfNew(call: Call): Error | undefined {
    if (call.entry === undefined || this.replay.record.lastSeq === 0) return undefined;
    note(this.unknown, call);
    return isOfOthers(this.displaced, call) ? enteredInAnotherOrder(this.id, call) : undefined;
  }

  /** Whether a call was recorded after the failure of a step that has run again since, or is to. */
  private followsFailure(recorded: RecordedCall): boolean {
    return this.replay.record.detours.some((detour) => isOn(detour, recorded));
  }

  /** When a body wants to start for the first time: why none may, because of what other builds have recorded. */
  refusalOfAll(): Error | undefined {
    return this.refusalOfLeft(this.code.firstLook(({ seq }) => !this.acceptance.ofEdits(seq)));
  }

  /** Whether one of the calls that want to start may be recorded work that the code asks for under another key. */
  suspects(wanted: readonly Call[]): boolean {
    return this.code.suspicion(wanted) !== undefined;
  }

  /**
   * Calls wait although the record is not used up: the code was edited, or asks late, or diverged.
   *
   * @returns why the run must not go on; whether it may go on without what is left of the record; or that the code may
   *   still ask for it, and if it does not in time, `unexplained` says why that is an end
   */
  heldBack(): Error | "go on" | "may ask" {
    const { replay, code, acceptance } = this;
    // What wants to start is taken for recorded work under another key, unless that is asked for after all.
    if (!replay.unfinished) return "may ask";
    const missing = replay.missing();
    if (missing[0] !== undefined && code.changedSince(missing[0])) {
      const old = missing.filter((call) => code.changedSince(call));
      const refusal = this.refusalOfLeft(old.filter(({ seq }) => !acceptance.ofEdits(seq)));
      if (refusal === undefined) replay.excuse(old);
      return refusal ?? "go on";
    }
    const left = missing.filter(({ seq }) => acceptance.wasOfDivergence(seq));
    if (left.length > 0) replay.excuse(left);
    else if (acceptance.isOfAllDivergence) replay.lenient = true;
    else return "may ask";
    return "go on";
  }

  /** Why the run must not go on, if the code asks for no more of the record than it has. */
  unexplained(wanted: readonly Call[]): Error | undefined {
    const { id } = this;
    if (!this.replay.unfinished) {
      const suspicion = this.code.suspicion(wanted);
      return suspicion && sameWorkElsewhere(id, suspicion.call, suspicion.recorded);
    }
    const [missing] = this.replay.missing();
    const asking = wanted[0] ?? this.replay.peek();
    return missing && asking && anotherPath(id, missing, asking);
  }

  /** Why calls that nobody has asked for must not be left behind: there is no way to them any more, or it is another's. */
  private refusalOfLeft(calls: readonly RecordedCall[]): Error | undefined {
    if (calls.length === 0) return undefined;
    const { id } = this;
    const retired = this.code.retired(calls);
    if (retired.length > 0) return retiredSites(id, retired);
    const uncertain = this.code.uncertain(calls);
    return uncertain.length > 0 ? uncertainSites(id, uncertain) : undefined;
  }
}

/** Notes the entry of a closure that has made a call. */
function note(calls: Map<string, Set<string>>, call: Call): void {
  const made = siteInClosure(call);
  const frames = calls.get(made) ?? new Set();
  calls.set(made, frames.add(call.entry!.entered));
}

/** Whether another entry of the closure has made the like of a call. */
function isOfOthers(calls: ReadonlyMap<string, ReadonlySet<string>>, call: Call): boolean {
  const frames = calls.get(siteInClosure(call));
  return frames !== undefined && frames.size > (frames.has(call.entry!.entered) ? 1 : 0);
}
