/** What the inspector's server tells its page: plain data, nothing of it to be interpreted. */
import type { ComparedCall } from "../runtime/errors.js";
import type { EntryKind, EntryState } from "../runtime/journal/entry.js";
import type { StoredStatus } from "../runtime/stores/store.js";

/** A run in the list. */
export interface RunLine {
  id: string;
  workflow: string;
  status: StoredStatus;
  /** Milliseconds since the epoch, as all times. */
  createdAt: number;
  updatedAt: number;
  /** When it goes on by itself. */
  due?: number;
  /** Id of the run that began it. */
  parent?: string;
  /** Its process is gone, and nobody has taken it up. */
  left?: true;
}

export interface RunList {
  runs: RunLine[];
  /** Names of the workflows of the newest runs. */
  workflows: string[];
  /** Whether there are more runs than these. */
  more: boolean;
}

/** Of the server. */
export interface About {
  version: string;
  /** The store, as the user named it. */
  store: string;
  /** Workflows that it was given; undefined if it was given no module. */
  workflows?: string[];
}

/** How a run stands. */
export interface RunBrief extends RunLine {
  /** How often a process has taken it. */
  fence: number;
  owner?: { pid: number; host: string; alive: boolean };
  parentKey?: string;
  /** Why it has failed. */
  failure?: ErrorView;
  hasOutput: boolean;
  orphans: string[];
  edited: string[];
  /** Keys or names of waits whose answer has been given and that no process has taken yet. */
  queued: string[];
}

/** Where a call stood in the source. */
export interface SiteView {
  module: string;
  line: number;
  anchor: string;
}

/** An entry of the journal without its value. */
export interface JournalRow {
  seq: number;
  key: string;
  kind: EntryKind;
  state: EntryState;
  start: number;
  end: number;
  /** Number of its site in the batch. */
  site?: number;
  /** If it is not 1. */
  attempt?: number;
  within?: string;
  name?: string;
  due?: number;
  timedOut?: true;
  child?: string;
  late?: true;
  /** Another process has gone on from here. */
  process?: string;
  /** Modules of which another build has gone on from here. */
  modules?: Array<[path: string, text: string]>;
}

/** One line of what the page follows a run by. */
export interface Batch {
  run?: RunBrief;
  sites?: SiteView[];
  rows?: JournalRow[];
  /** No more entries at the moment. */
  caughtUp?: true;
}

/** A part of a value's text. */
export interface ValueSlice {
  text: string;
  /** Where `text` begins. */
  from: number;
  /** Length of the whole. */
  total: number;
}

/** An error with all that it holds, within bounds. */
export interface ErrorView {
  name: string;
  message: string;
  /** How long the message is, if it was cut. */
  messageLength?: number;
  code?: string;
  stack?: string;
  /** Its own fields, as a text. */
  fields?: string;
  cause?: ErrorView;
  errors?: ErrorView[];
  /** Of a record that does not fit the code. */
  key?: string;
  at?: string;
  recorded?: ComparedCall;
  asked?: ComparedCall;
}

/** A few lines of a file. */
export interface SourceView {
  path: string;
  /** Number of the first line. */
  first: number;
  lines: string[];
  /** The line of the call. */
  line: number;
  /** The call is not to be seen there: the file is another one than when this was recorded. */
  doubtful?: true;
}

/** All of an entry that is not in its row. */
export interface EntryDetail {
  seq: number;
  /** Fingerprint of the arguments. */
  args: string;
  container?: string;
  value?: ValueSlice;
  error?: ErrorView;
  source?: SourceView;
}

/** What would become of the run if it were resumed with the workflows that the server was given. */
export interface ReplayView {
  ok: boolean;
  words: string;
  error?: ErrorView;
}

export interface RefusedReply {
  error: { code: string; message: string; issues?: string[] };
}
