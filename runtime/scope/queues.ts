/**
 * Calls that code which is not transformed has taken and not begun, as a pool does with what waits for a free place. It may begin
 * one in the async context of another, so that nothing but the order says for which of them a function is entered.
 */
import type { MarkedCall, RunScope, StepExtent } from "./place.js";

/** Of calls that never begin anything, which are not forgotten otherwise. */
const most = 1_000;

/** Of the calls of one function on one receiver, within one run or one attempt of a step's body. */
export class Queue {
  /** Those on whose behalf nothing was entered yet, in the order in which they came. */
  private readonly waiting = new Set<MarkedCall>();

  add(call: MarkedCall): void {
    if (this.waiting.size === most) this.next();
    this.waiting.add(call);
  }

  delete(call: MarkedCall): void {
    this.waiting.delete(call);
  }

  /** Takes the one that has waited longest. */
  next(): MarkedCall | undefined {
    const [call] = this.waiting;
    if (call !== undefined) this.waiting.delete(call);
    return call;
  }
}

type ByReceiver = WeakMap<object, Queue>;

const queues = new WeakMap<RunScope | StepExtent, WeakMap<object, ByReceiver>>();

/** Stands for receivers that are no objects. */
const nobody = {};

export function findQueue(owner: RunScope | StepExtent, callee: object, self: unknown): Queue | undefined {
  return queues.get(owner)?.get(callee)?.get(receiver(self));
}

export function queueOf(owner: RunScope | StepExtent, callee: object, self: unknown): Queue {
  const byCallee = getOrMake(queues, owner, () => new WeakMap<object, ByReceiver>());
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
