/** The open waits and timers of a run, and which messages answer which waits. */
import type { Message } from "../stores/store.js";
import type { Call } from "./call.js";

export interface OpenWait {
  name: string;
  call: Call;
  /** Milliseconds since the epoch. */
  since: number;
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
  private readonly used = new Set<number>();

  /** How many timers run. */
  get timers(): number {
    return this.alarms.size;
  }

  addWait(wait: OpenWait): void {
    this.open.set(wait.call.key, wait);
  }

  /** Forgets the waits that nobody is to answer any more. */
  keep(wanted: (wait: OpenWait) => boolean): void {
    for (const [key, wait] of this.open) if (!wanted(wait)) this.open.delete(key);
  }

  /** @param after sets an alarm for when the timer is due, and returns the way to cancel it */
  addTimer(key: string, due: number, fire: () => void, after: (alarm: () => void) => () => void): void {
    this.alarms.set(key, { due, cancel: after(() => this.fireDue(due)), fire });
  }

  /** Fires the timers that are due at `time`, earliest first: alarms of some that are overdue go off in any order. */
  fireDue(time: number): void {
    const due = [...this.alarms].filter(([, timer]) => timer.due <= time).sort(([, a], [, b]) => a.due - b.due);
    for (const [key, timer] of due) {
      timer.cancel();
      this.alarms.delete(key);
      timer.fire();
    }
  }

  /** The open wait that a message answers, by key or by name; both are used up. */
  answer({ number, target }: Message): OpenWait | undefined {
    if (this.used.has(number)) return undefined;
    const wait = this.find(target);
    if (wait === undefined) return undefined;
    this.used.add(number);
    this.open.delete(wait.call.key);
    return wait;
  }

  clear(): void {
    for (const { cancel } of this.alarms.values()) cancel();
    this.alarms.clear();
    this.open.clear();
  }

  /** The wait of that key, or the one that has been open longest under that name. */
  private find(target: string): OpenWait | undefined {
    const byKey = this.open.get(target);
    if (byKey !== undefined) return byKey;
    for (const wait of this.open.values()) if (wait.name === target) return wait;
    return undefined;
  }
}
