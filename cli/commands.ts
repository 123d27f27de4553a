/** The commands of `stepmark`. Each is a file in `commands/`. */
import type { Command } from "./command.js";

export interface CommandEntry {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** Commands are loaded when they are used: some need the compiler, which takes its time. */
  load(): Promise<Command>;
}

const project: readonly CommandEntry[] = [
  {
    name: "init",
    summary: "adds the compiler's plugin to a project",
    load: async () => (await import("./commands/init.js")).init,
  },
  {
    name: "doctor",
    summary: "looks whether a project is set up well, and its builds and its store",
    load: async () => (await import("./commands/doctor.js")).doctor,
  },
  {
    name: "sites",
    summary: "lists every call site of the project",
    load: async () => (await import("./commands/sites.js")).sites,
  },
  {
    name: "check",
    summary: "compares the lock file with the code, for CI",
    load: async () => (await import("./commands/check.js")).check,
  },
  {
    name: "accept",
    summary: "writes the lock file: asks what became of places that have moved",
    load: async () => (await import("./commands/accept.js")).accept,
  },
  {
    name: "diff",
    summary: "says what a change of the code does to runs in flight",
    load: async () => (await import("./commands/diff.js")).diff,
  },
  {
    name: "transform",
    summary: "writes transformed sources, for tools that have no hook",
    load: async () => (await import("./commands/transform.js")).transform,
  },
];

const runs: readonly CommandEntry[] = [
  {
    name: "runs",
    summary: "lists the runs of a store",
    load: async () => (await import("./commands/runs.js")).runs,
  },
  {
    name: "show",
    summary: "shows a run: its calls, what it waits for, why it failed",
    load: async () => (await import("./commands/show.js")).show,
  },
  {
    name: "events",
    summary: "prints what has happened in a run so far",
    load: async () => (await import("./commands/events.js")).events,
  },
  {
    name: "watch",
    summary: "follows a run until it ends",
    load: async () => (await import("./commands/watch.js")).watch,
  },
  {
    name: "ui",
    summary: "shows runs in the browser: timelines, scopes, values, open waits",
    load: async () => (await import("./commands/ui.js")).ui,
  },
  {
    name: "answer",
    summary: "answers a question that a run asks",
    load: async () => (await import("./commands/answer.js")).answer,
  },
  {
    name: "send",
    summary: "gives a message to a run's stream",
    load: async () => (await import("./commands/answer.js")).send,
  },
  {
    name: "cancel",
    summary: "ends runs for good",
    load: async () => (await import("./commands/cancel.js")).cancel,
  },
  {
    name: "resume",
    summary: "goes on with a run, with the code of this build",
    load: async () => (await import("./commands/resume.js")).resume,
  },
  {
    name: "retry",
    summary: "goes on with a run, and tries every failed step again",
    load: async () => (await import("./commands/resume.js")).retry,
  },
  {
    name: "export",
    summary: "prints runs of a store, with their journals",
    load: async () => (await import("./commands/export.js")).exportRuns,
  },
  {
    name: "import",
    summary: "puts exported runs into a store",
    load: async () => (await import("./commands/import.js")).importCommand,
  },
  {
    name: "prune",
    summary: "deletes runs that ended long ago, or archives them",
    load: async () => (await import("./commands/prune.js")).pruneCommand,
  },
  {
    name: "replay",
    summary: "tries a build on recorded runs, without running anything",
    load: async () => (await import("./commands/replay.js")).replay,
  },
];

const shell: readonly CommandEntry[] = [
  {
    name: "completion",
    summary: "lets a shell complete all of this",
    load: async () => (await import("./commands/completion.js")).completion,
  },
];

export const commandGroups: ReadonlyArray<readonly [name: string, entries: readonly CommandEntry[]]> = [
  ["A project", project],
  ["Its runs", runs],
  ["The shell", shell],
];

export const commands: readonly CommandEntry[] = commandGroups.flatMap(([, entries]) => entries);
