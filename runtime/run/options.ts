/** What a run under way is given: what it goes on with, and all that it has done by others. */
import type { AnyWorkflow } from "../calls/workflow.js";
import type { Clock } from "../clock.js";
import type { Executor } from "../executor/executor.js";
import type { Codec } from "../journal/codec.js";
import type { Entry } from "../journal/entry.js";
import type { ParentCall, Store } from "../stores/store.js";
import type { RunTrace } from "../telemetry/telemetry.js";
import type { Call } from "./call.js";
import type { Answer } from "./live/waiting-room.js";
import type { RunRecordView } from "./record/record.js";

export interface ExecutionOptions {
  id: string;
  /** When the run was created, in milliseconds since the epoch. */
  createdAt: number;
  workflow: string;
  store: Store;
  codec: Codec;
  clock: Clock;
  /** How long an unchanged replay waits for the code to ask for what the record holds, in milliseconds. */
  grace: number;
  /** After how long without anything to wait for a run is reported as stalled, in milliseconds. */
  stallAfter: number;
  /** How long bodies in flight may go on after the run has failed, in milliseconds. */
  drain: number;
  /** Accept what edits of the code did to the record. */
  acceptEdits: boolean;
  /** Go on although unchanged code took another path. */
  continueDivergence: boolean;
  fence: number;
  /** The app that wakes the run while it waits, as its owner's `token`; by default none does by itself. */
  keeper?: string | undefined;
  record: RunRecordView;
  /** Keys of failed calls that are to be run again. */
  rerun: ReadonlySet<string>;
  children: Children;
  /** Runs the bodies that it takes; by default all run in this process. */
  executor?: Executor | undefined;
  /** The run that waits for this one's end. */
  parent: ParentCall | undefined;
  /** Takes ownership again after a pause; rejects if another process has had it since `fence`. */
  reclaim(fence: number): Promise<number>;
  /** By default no other process ever takes the run. */
  hold?: Hold;
  /** By default calls are live. */
  instead?: Instead;
  /** By default nobody is told. */
  trace?: RunTrace | undefined;
  /** Called with each durable entry, in journal order. */
  onEntry(entry: Entry): void;
  /** Called when another process has asked for the run's cancellation. */
  onCancelRequest?(): void;
  /** Called whenever `open`, `waiting` or `stalled` changed. */
  onChange(): void;
}

/** How sure a run's ownership is. */
export interface Hold {
  /** Whether no other process can have taken the run by now. */
  isSure(): boolean;
  /** Finds out; rejects if one has. */
  makeSure(): Promise<void>;
}

/** What a run has child runs done by. */
export interface Children {
  /**
   * Begins a child run, or goes on with it.
   *
   * @param again whether a child that has failed is to be resumed
   */
  start(request: ChildRequest, again: boolean): Promise<void>;
  /** How a child has ended; undefined while it has not. */
  outcome(id: string): Promise<Answer | undefined>;
  /** Whether a child goes on in this process at the moment: then its parent has something under way. */
  isBusy(id: string): boolean;
}

/** A child run that a call asks for. */
export interface ChildRequest {
  id: string;
  workflow: AnyWorkflow;
  /** Encoded. */
  input: string;
  inputPrint: string;
  parent: ParentCall;
}

/** What takes the place of live calls, where a run is only gone through. */
export interface Instead {
  /** Gets the calls that would start now. */
  start(calls: readonly Call[]): void;
  /** As `stallAfter`, asked each time. */
  patience(): number;
}
