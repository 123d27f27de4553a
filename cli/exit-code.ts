/** Exit codes of `stepmark`; `docs/cli.md` lists them. */
import type { RunStatus } from "../runtime/app/run-info.js";

export const exitCode = {
  /** All is well; the run has completed. */
  ok: 0,
  /** Something is wrong: what the command looked for, the run has failed, or the command could not do its work. */
  wrong: 1,
  /** The command line makes no sense. */
  usage: 2,
  /** The run waits for an answer or a time. */
  waiting: 3,
  /** The run was cancelled. */
  cancelled: 4,
  /** The run waits for what can no longer happen. */
  stalled: 5,
  /** Another process drives the run. */
  owned: 6,
  /** Ctrl-C. */
  interrupted: 130,
} as const;

/** What is told of a run by the exit code of whoever has followed it. */
export function codeOfRun(status: RunStatus | "left"): number {
  if (status === "completed") return exitCode.ok;
  if (status === "waiting" || status === "cancelled" || status === "stalled") return exitCode[status];
  return exitCode.wrong;
}

/** For the help of commands that follow a run. */
export const runCodes =
  "Ends with 0 if the run has completed, 1 if it has failed, 3 if it waits, 4 if it was cancelled, 5 if it is stalled, 6 if another process drives it.";
