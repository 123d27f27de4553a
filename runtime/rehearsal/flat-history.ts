/**
 * Histories that were recorded elsewhere, as a list of steps known by their names and their order. They say nothing of who has
 * called whom, so one is only taken over where that leaves no doubt: the code asks for one step at a time, each stands in the
 * workflow's own function, and no other function has a step of that name.
 */
import { checkName } from "../calls/name.js";
import type { Workflow } from "../calls/workflow.js";
import type { Clock } from "../clock.js";
import { FlatHistoryError, InvalidArgumentError, RunExistsError } from "../errors.js";
import { fieldOf, isA, shown, wordsOf } from "../journal/careful.js";
import type { Codec } from "../journal/codec.js";
import { encoded } from "../journal/encoded.js";
import { fingerprint } from "../journal/fingerprint.js";
import { describe } from "../journal/judge.js";
import { type Call, placeOf } from "../run/call.js";
import type { Execution } from "../run/execution.js";
import { encodeError, type Outcome } from "../run/live/outcome.js";
import { rootOf } from "../run/record/build.js";
import { anchorOf, KEY_SCHEME } from "../scope/key.js";
import { baseAnchor, type ModuleTable, type Place } from "../scope/module-table.js";
import { state } from "../scope/process-state.js";
import { RowKind } from "../scope/site-table.js";
import type { Store, WholeRun } from "../stores/store.js";
import { rehearse } from "./rehearse.js";

/** A step that was done: what it returned, or what it threw. */
export type FlatStep = { name: string; value?: unknown; error?: undefined } | { name: string; error: unknown };

export interface FlatHistory<Input = unknown> {
  /** The id that the run is to have. */
  id: string;
  // biome-ignore lint/suspicious/noExplicitAny: the output does not matter
  workflow: Workflow<Input, any>;
  input: Input;
  /** From the first, in the order in which they were done: all of them, with the names that they have in the code. */
  steps: readonly FlatStep[];
}

export interface FlatImport {
  store: Store;
  codec: Codec;
  clock: Clock;
  /** How long the code may wait for something before its first step, in milliseconds. */
  grace: number;
}

/**
 * Goes through the workflow over a history and, if that leaves no doubt, puts the run into the store, for anybody to resume.
 *
 * @throws FlatHistoryError with the reason; RunExistsError, InvalidArgumentError, SerialisationError, StoreError
 */
export async function importFlat(history: FlatHistory, { store, codec, clock, grace }: FlatImport): Promise<void> {
  const { id, workflow, input, steps } = history;
  checkName("A run's id", id);
  if (!Array.isArray(steps)) throw new InvalidArgumentError("The `steps` of a history are no list", "Give an array.");
  if ((await store.read(id)) !== undefined) throw exists(id);
  const now = clock.now();
  const run: WholeRun["run"] = {
    id,
    workflow: workflow.workflowName,
    status: "running",
    input: encoded(codec, input, { runId: id }),
    inputPrint: fingerprint([input]),
    scheme: KEY_SCHEME,
    fence: 0,
    createdAt: now,
    updatedAt: now,
  };
  const walk = new Walk(history, codec);
  const { entries, ending, execution } = await rehearse({
    workflow,
    input: codec.decode(run.input),
    whole: { run, entries: [], inbox: [] },
    codec,
    grace,
    live: (execution, calls) => walk.take(execution, calls),
    patience: () => (walk.begun ? 0 : grace),
  });
  if (walk.refusal !== undefined) throw walk.refusal;
  if (execution.lifetime.refused && ending?.status === "failed") throw walk.refuse(wordsOf(ending.error));
  if (!walk.over) throw walk.refuse(ending === undefined ? walk.leftWaiting : walk.leftOver);
  const [taken] = await store.restore([{ run, entries, inbox: [] }]);
  if (taken !== undefined) throw exists(id);
}

class Walk {
  refusal: FlatHistoryError | undefined;
  begun = false;
  private position = 0;
  private call: Call | undefined;

  constructor(
    private readonly history: FlatHistory,
    private readonly codec: Codec,
  ) {}

  get over(): boolean {
    return this.position === this.history.steps.length;
  }

  /** Gives the one call that the code makes the next outcome. */
  take(execution: Execution, calls: readonly Call[]): void {
    this.begun = true;
    if (this.over || this.refusal !== undefined) return;
    const step = this.history.steps[this.position]!;
    const doubt = doubtAbout(calls, step, execution);
    this.call = calls[0];
    if (doubt !== undefined) {
      this.refusal = this.refuse(doubt);
      return;
    }
    this.position++;
    execution.finished(this.call!, outcomeOf(step, this.call!, this.codec, execution.id), {});
  }

  refuse(why: string): FlatHistoryError {
    const at = `step ${this.position + 1} of ${this.history.steps.length}`;
    const { key, site } = this.call ?? {};
    const place = { runId: this.history.id, key, at: placeOf(site) };
    return new FlatHistoryError(`The history is not imported, at ${at}: ${why}`, place);
  }

  /** What the history goes on with, in words. */
  private get next(): string {
    return nameIn(this.history.steps[this.position]!);
  }

  get leftWaiting(): string {
    return `it goes on with ${this.next}, and the code waits for something outside any step, beside which order says nothing`;
  }

  get leftOver(): string {
    return `it goes on with ${this.next}, and the code has come to its end`;
  }
}

/** Why an outcome may not belong to what the code asks for; undefined if there is no doubt. */
function doubtAbout(calls: readonly Call[], step: FlatStep, execution: Execution): string | undefined {
  const [call] = calls;
  const { kind, key, site } = call!;
  const asked = describe(site);
  if (calls.length > 1) {
    const all = calls.map((each) => describe(each.site)).join(", ");
    return `the code makes ${calls.length} calls at once, ${all}, and the history does not tell whose outcome is whose`;
  }
  if (kind !== "step") return `the code asks for a ${kind}, ${asked}, and such a history holds steps alone`;
  const named = typeof step?.name === "string" && anchorOf(step.name);
  if (site === undefined || baseAnchor(site.anchor) !== named)
    return `it holds ${nameIn(step)}, and the code asks for ${asked}`;
  const others = placesNamed(baseAnchor(site.anchor)).filter(
    ({ module, place }) => rootOf(module, place.container) !== execution.root || isMoved(module),
  );
  const [root, ...way] = key.split("/");
  if (others.length > 0 || root !== execution.rootKey || way.length > 1) {
    const where = others.map(({ place }) => place.at).join(", ") || placeOf(site);
    return `a step ${nameIn(step)} stands in another function than the workflow's own (${where}), which a step's body may have called: the history does not tell which of them it holds`;
  }
  return undefined;
}

/** All steps of a name in the code that is loaded. */
function placesNamed(anchor: string): Array<{ module: ModuleTable; place: Place }> {
  return [...state.modules.values()].flatMap((module) =>
    module.places
      .filter((place) => place.kind === RowKind.site && baseAnchor(place.anchor) === anchor)
      .map((place) => ({ module, place })),
  );
}

/** Whether calls of a module stand elsewhere than their keys say, by the word of a lock file. */
function isMoved({ places }: ModuleTable): boolean {
  return places.some(({ through, under }) => through !== undefined || under.length > 0);
}

function outcomeOf(step: FlatStep, { key, site }: Call, codec: Codec, runId: string): Outcome {
  if (Object.hasOwn(step, "error") && step.error !== undefined)
    return { state: "failed", value: encodeError(codec, thrown(step.error)) };
  const { value } = step as { value?: unknown };
  return { state: "done", value: encoded(codec, value, { runId, key, at: placeOf(site) }) };
}

/** What a step has thrown, also as JSON holds it: `{ "name": "TypeError", "message": "..." }`. */
function thrown(error: unknown): unknown {
  if (typeof error !== "object" || error === null || isA(error, Error)) return error;
  const message = fieldOf(error, "message");
  if (typeof message !== "string") return error;
  const { name, stack, message: _, ...rest } = error as Record<string, unknown>;
  const made = Object.assign(new Error(message), rest);
  for (const [field, value] of Object.entries({ name, stack }))
    if (typeof value === "string") Object.defineProperty(made, field, { value, configurable: true, writable: true });
  return made;
}

function nameIn(step: FlatStep): string {
  return shown(step?.name);
}

function exists(runId: string): RunExistsError {
  return new RunExistsError("The store holds a run with this id, and nothing is imported over it", { runId });
}
