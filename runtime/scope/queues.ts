/**
 * Calls that code which is not transformed has taken and not begun, as a pool does with what waits for a free place. It may begin
 * one in the async context of another, so that nothing but the order says for which of them a function is entered.
 */
import type { MarkedCall, RunScope } from "./place.js";

/** How many are kept: there are functions that never enter one, and each call of theirs would wait for ever. */
const most = 1_000;

/** Of the calls of one function on one receiver, within one run. */
export class Queue {
  /** In the order in which they came; those that have begun by themselves are still among them. */
  private waiting: MarkedCall[] = [];
  private taken = 0;

  add(call: MarkedCall): void {
    if (this.waiting.length === 2 * most) {
      this.waiting = this.waiting.slice(Math.max(this.taken, most));
      this.taken = 0;
    }
    this.waiting.push(call);
  }

  /**
   * Takes the one that has waited longest, as most queues do.
   *
   * @returns what tells the choice apart: that one, and how many wait up to which, of whom a stack would begin another
   */
  next(): string | undefined {
    while (this.taken < this.waiting.length) {
      const call = this.waiting[this.taken++]!;
      if (!call.begun) return `${call.key} ${this.waiting.length - this.taken} ${this.waiting.at(-1)!.key}`;
    }
    return undefined;
  }
}

type ByReceiver = WeakMap<object, Queue>;

const queues = new WeakMap<RunScope, WeakMap<object, ByReceiver>>();

/** Stands for receivers that are no objects. */
const nobody = {};

export function findQueue(run: RunScope, callee: object, self: unknown): Queue | undefined {
  return queues.get(run)?.get(callee)?.get(receiver(self));
}

export function queueOf(run: RunScope, callee: object, self: unknown): Queue {
  const byCallee = getOrMake(queues, run, () => new WeakMap<object, ByReceiver>());
  const byReceiver = getOrMake(byCallee, callee, () => new WeakMap<object, Queue>());
  return getOrMake(byReceiver, receiver(self), () => new Queue());
}

function receiver(self: unknown): object {
  return (typeof self === "object" && self !== null) || typeof self === "function" ? self : nobody;
}

function getOrMake<K extends object, V>(map: WeakMap<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
