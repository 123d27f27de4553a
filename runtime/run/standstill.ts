/** What a run does that has nothing to deliver and nothing to start. */
import type { Clock } from "../clock.js";
import type { Lifetime } from "./end/lifetime.js";
import type { LiveCalls } from "./live/live-calls.js";
import type { WaitingRoom } from "./live/waiting-room.js";
import type { Children } from "./options.js";
import type { Changes } from "./record/changes.js";
import type { Replay } from "./record/replay.js";

/** In milliseconds: a run that sleeps for less stays with this process. */
const longSleep = 5_000;

export interface StandstillOptions {
  lifetime: Lifetime;
  replay: Replay;
  calls: LiveCalls;
  waits: WaitingRoom;
  changes: Changes;
  children: Children;
  clock: Clock;
}

export class Standstill {
  constructor(private readonly run: StandstillOptions) {}

  /**
   * Where the run stands: it is under way and goes on by itself, it has come to its end, calls are held back, it pauses until
   * an answer or a timer comes, or there is nothing that it could wait for.
   */
  get kind(): "under way" | "over" | "held back" | "pause" | "stall" {
    const { lifetime, replay, calls, waits } = this.run;
    const failing = lifetime.phase === "failing";
    const wanted = calls.wanted.length > 0;
    if (calls.inFlight.size > 0) {
      if (!this.bodiesAllWait()) return "under way";
      if (lifetime.refused) return "over";
      if (failing) return "under way";
      if (wanted) return "held back";
      return this.goesOnByItself() ? "under way" : "pause";
    }
    if (failing || (lifetime.phase === "returning" && !wanted)) return "over";
    if (replay.peek() !== undefined || wanted) return "held back";
    if (this.goesOnByItself()) return "under way";
    if (waits.open.size > 0 || this.sleepsLong()) return "pause";
    return waits.timers === 0 ? "stall" : "under way";
  }

  /** Whether each body in flight has an open question or a call that is held back. */
  private bodiesAllWait(): boolean {
    const { calls, waits, changes } = this.run;
    const asking = changes.waiting;
    if (waits.open.size + calls.wanted.length + asking.length === 0) return false;
    const open = [...waits.open.values()].map(({ call }) => call);
    return calls.allWaitFor([...open, ...calls.wanted, ...asking]);
  }

  /** A child's end comes as a message, and its pause wakes this run; a timer that is due goes off in a moment. */
  private goesOnByItself(): boolean {
    return this.childrenAreBusy() || this.isDue();
  }

  private childrenAreBusy(): boolean {
    const { waits, children } = this.run;
    if (waits.open.size === 0) return false;
    return [...waits.open.values()].some(({ details }) => details?.child && children.isBusy(details.child));
  }

  private isDue(): boolean {
    const { waits, clock } = this.run;
    return waits.nextDue !== undefined && waits.nextDue <= clock.now();
  }

  /** Whether it is worth while to give the run up until the next timer is due. */
  private sleepsLong(): boolean {
    const { waits, clock } = this.run;
    const { nextDue } = waits;
    return nextDue !== undefined && nextDue - clock.now() >= longSleep;
  }
}
