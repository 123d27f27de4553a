/**
 * The replay of a record: which recorded outcome may be delivered next, and when the record is used up.
 *
 * Outcomes are delivered in recorded order. One that the code has not asked for yet holds back all later ones, since
 * a branch that asks late (it waits for something raw) must not be overtaken; `lenient` lifts that.
 */
import type { Call } from "./call.js";
import type { RecordedCall, RunRecordView } from "./record.js";

export class Replay {
  /** Calls that were asked for and await delivery, lowest sequence first. */
  private readonly asked: Call[] = [];
  private cursor = 0;
  /** Deliver what was asked for, whatever else the record holds. */
  lenient = false;

  constructor(readonly record: RunRecordView) {}

  find(key: string): RecordedCall | undefined {
    return this.record.calls.get(key);
  }

  /** Puts a call with a recorded outcome in line. */
  ask(call: Call): void {
    const seq = call.recorded!.seq;
    let low = 0;
    let high = this.asked.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.asked[middle]!.recorded!.seq < seq) low = middle + 1;
      else high = middle;
    }
    this.asked.splice(low, 0, call);
  }

  /** Takes the next call to deliver, if there is one that nothing holds back. */
  take(): Call | undefined {
    const first = this.asked[0];
    if (first === undefined) return undefined;
    if (!this.lenient) {
      const missing = this.firstMissing();
      if (missing !== undefined && missing.seq < first.recorded!.seq) return undefined;
    }
    return this.asked.shift();
  }

  /** The first call in line, held back or not. */
  peek(): Call | undefined {
    return this.asked[0];
  }

  /** Whether something that the record requires has not been asked for or delivered yet. */
  get unfinished(): boolean {
    return this.asked.length > 0 || (!this.lenient && this.firstMissing() !== undefined);
  }

  /** Required calls that the code has not asked for. */
  missing(): RecordedCall[] {
    return this.record.timeline.filter((call) => !call.asked);
  }

  private firstMissing(): RecordedCall | undefined {
    const { timeline } = this.record;
    while (this.cursor < timeline.length && timeline[this.cursor]!.asked) this.cursor++;
    return timeline[this.cursor];
  }
}
