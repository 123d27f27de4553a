/**
 * Whether the code may have what the record holds for it, and may go on where the record does not: each call is checked as
 * it is asked for, and what nobody has asked for is judged before a body starts. All that is found is told as the error
 * that the run is to end with.
 */
import { judge } from "../../journal/judge.js";
import type { Call } from "../call.js";
import {
  anotherPath,
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
import { callerOf, changedPlaces, entryOf, isAnothers, isFromBodyInside } from "./closure-order.js";
import type { EditedCode } from "./edited-code.js";
import { type Asker, type AskingPlace, ownKey } from "./own-key.js";
import { isOn, type RecordedCall } from "./record.js";
import type { Replay } from "./replay.js";

export class Checks {
  /** Keys of calls that were answered although their text has changed. */
  readonly edited: string[] = [];
  /** Entries of closures that were answered with what another caller's entry had come to. */
  private readonly displaced = new Set<string>();

  /** @param id of the run, for messages */
  constructor(
    private readonly id: string,
    private readonly replay: Replay,
    private readonly code: EditedCode,
    private readonly acceptance: Acceptance,
  ) {}

  /** The key of a call: that of its place, or, where the run is to go on though another call is recorded there, one of its own. */
  keyOf({ key, chain, entry, record }: AskingPlace, args: string): string {
    if (!this.acceptance.isOfAnyDivergence) return key;
    const call = { key, chain, entry, site: record, args };
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
    return entry !== undefined && isAnothers(call, entry);
  }

  /** Why a call must not have what is recorded under its key. */
  refusalOf(call: Call, recorded: RecordedCall): Error | undefined {
    const entry = recorded.outcome ?? recorded.open;
    if (entry === undefined) return undefined;
    const { id } = this;
    const way = this.code.compareWays(call, recorded);
    if (way === "another" && !this.acceptance.ofDivergence(entry.seq))
      return anotherWay(id, call, recorded, this.followsFailure(recorded));
    const mayAccept = this.acceptance.ofEdits(entry.seq);
    const verdict = judge(entry, call, way === "same", this.code.rootChanged, mayAccept);
    if (!verdict.hit) return notAHit(id, call, verdict, this.followsFailure(recorded));
    if (this.code.isShifted(call, recorded)) return shiftedSite(id, call, recorded);
    if (changedPlaces(call, entry, this.replay.record)) return enteredInAnotherOrder(id, call);
    if (isAnothers(call, entry)) {
      if (isFromBodyInside(call, entry)) return enteredByBody(id, call, entry.within!);
      this.displaced.add(entryOf(call, entry.caller));
    }
    if (verdict.edited) this.edited.push(call.key);
    return undefined;
  }

  /** Why a call that the record does not know must not be made: another one has been answered with what belongs to it. */
  refusalOfNew(call: Call): Error | undefined {
    if (this.displaced.size === 0 || !this.displaced.has(entryOf(call, callerOf(call)))) return undefined;
    return enteredInAnotherOrder(this.id, call);
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
