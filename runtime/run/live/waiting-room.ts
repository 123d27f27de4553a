/** The open waits and timers of a run, and which messages answer which waits. */
import type { Entry } from "../../journal/entry.js";
import type { Message } from "../../stores/store.js";
import type { Call } from "../call.js";

/** What a wait comes to: the encoded value that the code receives (an error, if `failed`), or what is wrong. */
export type Answer =
  | CheckedAnswer
  /** What was waited for cannot be gone on with, and so neither can the run. */
  | { ok: false; refusal: Error };

/** An answer that was given to a wait: as it is recorded, or why its schema does not take it. */
export type CheckedAnswer = { ok: true; value: string; failed?: true } | { ok: false; issues: string[] };

export interface OpenWait {
  name: string;
  call: Call;
  /** Milliseconds since the epoch. */
  since: number;
  /** What its entries say besides the name. */
  details?: Partial<Entry>;
  /**
   * Checks an answer; absent if it is taken as it comes.
   *
   * @param given the encoded value
   */
  accept?(given: string): CheckedAnswer | Promise<CheckedAnswer>;
  /**
   * Looks for the outcome where a message only says that there is one; undefined if there is none yet after all.
   *
   * @throws what the store throws
   */
  look?(): Promise<Answer | undefined>;
}

/** A timer that has been set. */
interface Timer {
  /** Milliseconds since the epoch. */
  due: number;
  cancel: () => void;
  fire: () => void;
}

export class WaitingRoom {
  /** Open waits by replay key. */
  readonly open = new Map<string, OpenWait>();
  private readonly alarms = new Map<string, Timer>();

  /** How many timers run. */
  get timers(): number {
    return this.alarms.size;
  }

  /** When the next timer is due, in milliseconds since the epoch. */
  get nextDue(): number | undefined {
    const dues = [...this.alarms.values()].map(({ due }) => due);
    return dues.length === 0 ? undefined : dues.reduce((least, due) => Math.min(least, due));
  }

  addWait(wait: OpenWait): void {
    this.open.set(wait.call.key, wait);
  }

  /** Forgets the waits that nobody is to answer any more. */
  keep(wanted: (wait: OpenWait) => boolean): void {
    for (const [key, wait] of this.open) if (!wanted(wait)) this.close(key);
  }

  /** @returns whether the wait was open */
  close(key: string): boolean {
    this.alarms.get(key)?.cancel();
    this.alarms.delete(key);
    return this.open.delete(key);
  }

  /** @param after sets an alarm for when the timer is due, and returns the way to cancel it */
  addTimer(key: string, due: number, fire: () => void, after: (alarm: () => void) => () => void): void {
    this.alarms.set(key, { due, cancel: after(() => this.fireDue(due)), fire });
  }

  /**
   * Fires the timers that are due at `time`, earliest first: alarms of some that are overdue go off in any order.
   *
   * @param but key of one that is left
   */
  fireDue(time: number, but?: string): void {
    const due = [...this.alarms]
      .filter(([key, timer]) => timer.due <= time && key !== but)
      .sort(([, a], [, b]) => a.due - b.due);
    for (const [key, timer] of due) {
      timer.cancel();
      this.alarms.delete(key);
      timer.fire();
    }
  }

  /** The open wait that a message is for, by key or by name; undefined if there is none. */
  find({ target }: Pick<Message, "target">): OpenWait | undefined {
    const byKey = this.open.get(target);
    if (byKey !== undefined) return byKey;
    // The one that has been open longest under that name.
    for (const wait of this.open.values()) if (wait.name === target) return wait;
    return undefined;
  }

  clear(): void {
    for (const { cancel } of this.alarms.values()) cancel();
    this.alarms.clear();
    this.open.clear();
  }
}
