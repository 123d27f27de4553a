/** Whether a run can take an answer, and which wait it is for. */
import { AnswerError } from "../errors.js";
import type { Entry } from "../journal/entry.js";
import { escapePart } from "../scope/key.js";
import type { RunRecord } from "../stores/store.js";
import { hasEnded } from "./ended.js";
import type { OpenWaitInfo, RunInfo } from "./run-info.js";

/**
 * @param target key or name of the wait
 * @param queued targets of answers that no wait has used yet
 * @param now what has timed out by then takes no answer, though no process has been there to see it
 * @returns what the answer is to be addressed to: the key of the open wait, so that no other wait of that name can ever
 *   take it, and that one only once; the name itself if no wait of that name has been opened yet
 * @throws AnswerError that lists what is open
 */
export function checkAnswer(
  run: RunRecord,
  target: string,
  { waits, ...info }: RunInfo,
  entries: readonly Entry[],
  queued: ReadonlySet<string>,
  now: number,
): { target: string; once: boolean } {
  const isOver = ({ due }: OpenWaitInfo): boolean => due !== undefined && due <= now;
  const open = { ...info, waits: waits.filter((wait) => !isOver(wait)) };
  const place = { runId: run.id };
  const cure = openNow(open);
  if (hasEnded(run.status)) {
    throw takesNothing(open);
  }
  const byKey = open.waits.find(({ key }) => key === target);
  const byName = open.waits.filter(({ name }) => name === target);
  if (byKey === undefined && byName.length > 1) {
    throw new AnswerError(
      `${byName.length} open waits are named ${JSON.stringify(target)}`,
      `Answer one by its key. ${cure}`,
      place,
    );
  }
  const wait = byKey ?? byName[0];
  if (wait !== undefined) {
    if (queued.has(wait.key) || queued.has(wait.name)) throw answeredAlready(run.id, target, open);
    return { target: wait.key, once: true };
  }
  const over = waits.find(({ key, name }) => key === target || name === target);
  if (over !== undefined) {
    const when = new Date(over.due!).toISOString();
    throw new AnswerError(`The wait ${JSON.stringify(over.name)} has timed out at ${when}`, cure, place);
  }
  const answered = entries.some(
    ({ kind, state, key, name }) => kind === "wait" && state === "done" && (key === target || name === target),
  );
  if (answered) throw answeredAlready(run.id, target, open);
  if (target.startsWith(`${escapePart(run.workflow)}/`)) {
    const early = "What begins as keys do is not taken for the name of a wait that is still to come.";
    throw new AnswerError(`No open wait has the key ${target}`, `${cure} ${early}`, place);
  }
  return { target, once: false };
}

export function answeredAlready(runId: string, target: string, info: RunInfo): AnswerError {
  const { name } = info.waits.find(({ key }) => key === target) ?? { name: target };
  // One that has its answer in the inbox is open until the run goes on.
  const others = info.waits.filter((wait) => wait.key !== target && wait.name !== target);
  const took = others.length < info.waits.length ? "The run takes that answer when it goes on. " : "";
  const cure = `${took}${openNow({ waits: others })}`;
  return new AnswerError(`The wait ${JSON.stringify(name)} has been answered already`, cure, { runId });
}

export function takesNothing({ id, status }: RunInfo): AnswerError {
  const cure = "Nothing waits any more: `app.get(id)` tells how it ended.";
  return new AnswerError(`The run is ${status} and takes no answers`, cure, { runId: id });
}

export function sentAsAnother(runId: string, key: string): AnswerError {
  const what = `The run was given something else before under the \`idempotencyKey\` ${JSON.stringify(key)}`;
  const cure = "Send the same as then, or give what is another message another key: nothing was given to the run now.";
  return new AnswerError(what, cure, { runId });
}

export function refusedAnswer(runId: string, target: string, info: RunInfo, issues: string[]): AnswerError {
  const what = `The schema of the wait ${JSON.stringify(target)} does not take the answer: ${issues.join("; ")}`;
  return new AnswerError(what, openNow(info), { runId }, issues);
}

function openNow({ waits }: Pick<RunInfo, "waits">): string {
  return `Open now: ${waits.map(({ key, name }) => `${JSON.stringify(name)} (key ${key})`).join(", ") || "none"}.`;
}
