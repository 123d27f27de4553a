/** The public surface of stepmark. */
import "./scope/generated-code.js";

export type { EndedStatus } from "./app/ended.js";
export type { EventOptions, RunEvent, RunEventFields, RunEventOf, RunEventType } from "./app/events.js";
export type {
  EnqueueOptions,
  ListOptions,
  RecoverOptions,
  ResumeOptions,
  RunOptions,
  SendOptions,
  StartOptions,
  StepmarkOptions,
} from "./app/options.js";
export type { PruneOptions } from "./app/prune.js";
export { Run } from "./app/run.js";
export type { ChildInfo, OpenWaitInfo, RunInfo, RunStatus } from "./app/run-info.js";
export { Stepmark } from "./app/stepmark.js";
export type { BlobOptions, BlobPlace } from "./blobs/blob-place.js";
export { blobDirectory } from "./blobs/directory.js";
export { type Changed, changed } from "./calls/changed.js";
export { type Child, type ChildOptions, child } from "./calls/child.js";
export type { Duration } from "./calls/duration.js";
export { type Events, events, type StreamOptions } from "./calls/events.js";
export { keyed } from "./calls/keyed.js";
export { type Publish, publish } from "./calls/publish.js";
export type { SchemaIssue, SchemaResult, StandardSchema } from "./calls/schema.js";
export { type Sleep, sleep } from "./calls/sleep.js";
export { type Step, type StepOptions, step } from "./calls/step.js";
export { stepContext } from "./calls/step-context.js";
export { now, random, uuid, type ValueSource } from "./calls/values.js";
export { type WaitFor, type WaitOptions, type WaitResult, waitFor } from "./calls/wait-for.js";
export { withoutRun } from "./calls/without-run.js";
export { type AnyWorkflow, type Workflow, workflow } from "./calls/workflow.js";
export type { Clock } from "./clock.js";
export * from "./errors.js";
export type { Executor, StepCall } from "./executor/executor.js";
export type { HttpAction, HttpAsked, HttpOptions } from "./http/options.js";
export { type Codec, type CodecOptions, codec } from "./journal/codec.js";
export type { Entry, EntryKind, EntryState, SiteRecord } from "./journal/entry.js";
export type { FlatHistory, FlatStep } from "./rehearsal/flat-history.js";
export type { StepContext } from "./run/live/running-step.js";
export { type MemoryStore, memoryStore } from "./stores/memory.js";
export type {
  Claim,
  Lease,
  ListFilter,
  Message,
  NewRun,
  Owner,
  ParentCall,
  PostOptions,
  RunChange,
  RunRecord,
  SenderKey,
  Store,
  StoredStatus,
  WholeRun,
} from "./stores/store.js";
export type {
  AttemptTrace,
  RunToTrace,
  RunTrace,
  StepToTrace,
  StepTrace,
  Telemetry,
} from "./telemetry/telemetry.js";
export type { ExportOptions } from "./transfer/export.js";
export type { ExportText } from "./transfer/read-export.js";
export type { Cron } from "./work/crons.js";
export type { Rate, WorkflowLimits } from "./work/limits.js";
export type { Queue } from "./work/queue.js";
export type { Worker, WorkOptions } from "./work/worker.js";
