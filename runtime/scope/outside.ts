/**
 * The runtime's own work, and the parts that it is given (store, codec, clock), run outside every run: such a part
 * may be transformed code itself, and must not be taken for a part of the workflow that happens to call it.
 */
import { state } from "./process-state.js";

/** Runs `work(a, b, c)` in no call in progress and in no run's async context. */
export function outsideRuns<A, B, C, T>(work: (a: A, b: B, c: C) => T, a?: A, b?: B, c?: C): T {
  const mark = state.mark;
  state.mark = null;
  try {
    // Not `exit`: that switches the promise hooks of the whole process off and on.
    return state.context.run(undefined, work, a as A, b as B, c as C);
  } finally {
    state.mark = mark;
  }
}

function applyNamed(target: object, name: PropertyKey, args: unknown[]): unknown {
  return Reflect.apply(Reflect.get(target, name, target) as (...args: unknown[]) => unknown, target, args);
}

/** The same object, each of its methods called outside every run. */
export function isolated<T extends object>(part: T): T {
  const methods = new Map<PropertyKey, unknown>();
  return new Proxy(part, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      let method = methods.get(name);
      if (method === undefined) {
        // Looked up at each call: a part may be given other methods while it is in use.
        method = (...args: unknown[]) => outsideRuns(applyNamed, target, name, args);
        methods.set(name, method);
      }
      return method;
    },
  });
}
