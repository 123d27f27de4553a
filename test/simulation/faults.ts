/**
 * Faults that can be put into the library on purpose, one at a time, to see whether the simulator finds them. They
 * replace methods of its classes, or a part that a `Stepmark` is given, so the library needs no hooks for them.
 */
import * as library from "stepmark";
import { type Codec, codec } from "stepmark";
import { ChildRuns } from "../../runtime/app/children.js";
import { DormantRuns } from "../../runtime/app/dormant-runs.js";
import { Execution } from "../../runtime/run/execution.js";
import { JournalWriter } from "../../runtime/run/journal-writer.js";
import { Changes } from "../../runtime/run/record/changes.js";
import { Replay } from "../../runtime/run/record/replay.js";
import { Frame, outsideFrame } from "../../runtime/scope/place.js";
import { type Conditions, sound } from "./process.js";

export interface Fault {
  name: string;
  /** Puts the fault in; returns the way to take it out. */
  put?(): () => void;
  conditions?: () => Conditions;
}

export const faults: readonly Fault[] = [
  {
    name: "keys without loop path",
    put: () =>
      together(
        ...sited.map((fn) =>
          replace(
            fn,
            "at",
            (at) =>
              (frame, index, _path, ...rest) =>
                at(frame, index, 0, ...rest),
          ),
        ),
        ...(["enter", "call", "new"] as const).map((name) =>
          replace(
            Frame.prototype,
            name,
            (method) =>
              function (index, _path, ...rest) {
                return method.call(this, index, 0, ...rest);
              },
          ),
        ),
      ),
  },
  {
    name: "without creation scope",
    put: () =>
      replace(
        Frame.prototype,
        "enter",
        () =>
          function (this: Frame, index, path) {
            return outsideFrame(this.module).enter(index as number, path as 0);
          },
      ),
  },
  {
    name: "without marks",
    put: () =>
      replace(
        Frame.prototype,
        "call",
        () => (_index, _path, callee, self, args) => Reflect.apply(callee as () => unknown, self, args as unknown[]),
      ),
  },
  {
    name: "hits delivered at once",
    put: () => replace(Replay.prototype, "ask", () => (call) => answer(call as Asked)),
  },
  {
    name: "hits delivered in key order",
    put: () =>
      replace(
        Replay.prototype,
        "take",
        () =>
          function (this: { first: Asked | undefined; others: Asked[] }) {
            if (this.first === undefined) return undefined;
            const [next, first, ...others] = [this.first, ...this.others].sort((a, b) => (a.key < b.key ? -1 : 1));
            this.first = first;
            this.others.splice(0, this.others.length, ...others);
            return next;
          },
      ),
  },
  {
    name: "announced before saved",
    put: () =>
      replace(
        JournalWriter.prototype,
        "write",
        (write) =>
          function (...args) {
            (write.apply(this, args) as Promise<void>).catch(() => {});
            return Promise.resolve();
          },
      ),
  },
  {
    name: "a save is cancelled when a sibling fails",
    put: () =>
      replace(
        Execution.prototype,
        "finished",
        (finished) =>
          function (this: Running, ...args) {
            if (this.lifetime.phase !== "failing") return finished.apply(this, args);
            this.calls.inFlight.delete((args[0] as Asked).key);
            this.wake();
          },
      ),
  },
  {
    name: "failures are not recorded",
    put: () =>
      replace(
        Execution.prototype,
        "finished",
        (finished) =>
          function (this: Running, call, outcome, details) {
            if ((outcome as { state: string }).state !== "failed") return finished.call(this, call, outcome, details);
            this.calls.inFlight.delete((call as Asked).key);
            this.calls.ready.push({ call, outcome });
            this.wake();
          },
      ),
  },
  {
    name: "a child is begun again by each process",
    put: () =>
      together(
        ...(["start", "outcome", "isBusy"] as const).map((name) =>
          replace(
            ChildRuns.prototype,
            name,
            (method) =>
              function (this: ChildRuns, ...args) {
                return method.call(this, renamed(this, args[0]), ...args.slice(1));
              },
          ),
        ),
      ),
  },
  {
    name: "changed takes every build for another one",
    put: () => replace(Changes.prototype, "isThisBuild", () => () => false),
  },
  {
    name: "nobody wakes a run that has left memory",
    put: () => replace(DormantRuns.prototype, "wake", () => () => Promise.resolve()),
  },
  { name: "messages are delivered twice", conditions: () => ({ ...sound, consumes: false }) },
  { name: "without fence", conditions: () => ({ ...sound, fenced: false }) },
  { name: "values kept by reference", conditions: () => ({ ...sound, codec: byReference() }) },
];

/** The functions that generated code calls through their `at`. */
const { child, events, now, publish, random, sleep, step, uuid, waitFor } = library;
const sited = [child, events, now, publish, random, sleep, step, uuid, waitFor];

/** Of each app, what it adds to the ids of child runs. */
const suffixes = new WeakMap<ChildRuns, string>();
let apps = 0;

/** An id, or a request with one, as another app would not know it. */
function renamed(runs: ChildRuns, what: unknown): unknown {
  if (!suffixes.has(runs)) suffixes.set(runs, `?${++apps}`);
  const suffix = suffixes.get(runs)!;
  return typeof what === "string"
    ? what + suffix
    : { ...(what as { id: string }), id: (what as { id: string }).id + suffix };
}

interface Asked {
  key: string;
  recorded: { outcome: { state: string; value: string } };
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

interface Running {
  lifetime: { phase: string };
  calls: { inFlight: Map<string, unknown>; ready: unknown[] };
  wake(): void;
}

function answer({ recorded, resolve, reject }: Asked): void {
  const { state, value } = recorded.outcome;
  const decoded = codec().decode(value);
  if (state === "done") resolve(decoded);
  else reject(decoded);
}

/** Keeps objects as they are instead of as text. */
function byReference(): Codec {
  const values: unknown[] = [];
  return {
    encode: (value) => String(values.push(value) - 1),
    decode: (text) => values[Number(text)],
  };
}

// biome-ignore lint/suspicious/noExplicitAny: whatever the method's own `this` is
type Method = (this: any, ...args: any[]) => unknown;

/** Replaces a method, private ones too; returns the way back. */
function replace(target: object, name: string, make: (original: Method) => Method): () => void {
  const methods = target as Record<string, Method>;
  const original = methods[name];
  if (original === undefined) throw new Error(`There is no ${name} to put the fault into`);
  methods[name] = make(original);
  return () => {
    methods[name] = original;
  };
}

function together(...undo: Array<() => void>): () => void {
  return () => {
    for (const each of undo) each();
  };
}
