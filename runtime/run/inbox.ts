/** A run's inbox: which messages its open waits take, and what becomes of them. */
import { wordsOf } from "../journal/careful.js";
import type { Entry } from "../journal/entry.js";
import { outsideRuns } from "../scope/outside.js";
import type { Message } from "../stores/store.js";
import type { Call } from "./call.js";
import type { Execution } from "./execution.js";
import type { Answer, OpenWait } from "./waiting-room.js";

/** How a wait ends, or goes on: an entry, and the messages that it uses up. */
export interface Taken {
  call: Call;
  details: Partial<Entry> & Pick<Entry, "state">;
  /** Encoded value that the code receives; undefined if the wait stays open. */
  outcome: { state: "done" | "failed"; value: string } | undefined;
  messages: readonly Message[];
}

/** Takes what is in the inbox for the waits that are open, in order of arrival. */
export async function takeMessages(execution: Execution, messages: readonly Message[]): Promise<void> {
  const { waits, clock } = execution;
  for (const message of messages) {
    if (!execution.open) return;
    // What fell due before the answer came was first, also if no process was there to see it.
    waits.fireDue(Math.min(message.at, clock.now()));
    const wait = waits.find(message);
    if (wait === undefined) continue;
    const answer = wait.look === undefined ? await read(message, wait) : await wait.look();
    // Something may have happened meanwhile: the wait timed out, or another reading of the inbox was faster.
    if (answer === undefined || !execution.open || waits.find(message) !== wait) continue;
    // All that say the same are used up by one outcome.
    const said = wait.look === undefined ? [message] : messages.filter(({ target }) => target === message.target);
    execution.take(taken(execution, said, message.at, wait, answer));
  }
}

/** Takes an outcome for which no message was left: an attempt that is over may have used it up. */
export function takeOutcome(execution: Execution, key: string, outcome: Answer): void {
  const wait = execution.waits.open.get(key);
  if (execution.open && wait !== undefined) execution.take(taken(execution, [], execution.clock.now(), wait, outcome));
}

function read({ value }: Message, wait: OpenWait): Answer | Promise<Answer> {
  return wait.accept === undefined ? { ok: true, value } : check(value, wait);
}

/**
 * What an open wait that checks its answers makes of one.
 *
 * @param given the encoded value
 */
export async function check(given: string, wait: OpenWait): Promise<Answer> {
  try {
    return await outsideRuns(() => wait.accept!(given));
  } catch (error) {
    return { ok: false, issues: [`The check failed: ${wordsOf(error)}`] };
  }
}

function taken(
  { waits, codec }: Execution,
  messages: readonly Message[],
  at: number,
  wait: OpenWait,
  answer: Answer,
): Taken {
  const { name, call, since, details = { name } } = wait;
  const times = { ...details, attempt: 1, startedAt: since, endedAt: at };
  for (const message of messages) waits.use(message);
  if (!answer.ok) {
    const value = codec.encode(answer.issues);
    return { call, details: { ...times, state: "refused", value }, outcome: undefined, messages };
  }
  waits.close(call.key);
  const outcome = { state: answer.failed ? "failed" : "done", value: answer.value } as const;
  return { call, details: { ...times, ...outcome }, outcome, messages };
}
