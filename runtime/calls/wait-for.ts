/** `waitFor`: a question that somebody outside the run answers, any time later. */
import { at } from "../clock.js";
import { InvalidArgumentError } from "../errors.js";
import { isA } from "../journal/careful.js";
import { encoded } from "../journal/encoded.js";
import { fingerprint } from "../journal/fingerprint.js";
import { type Call, placeOf } from "../run/call.js";
import type { Execution } from "../run/execution.js";
import type { CheckedAnswer } from "../run/live/waiting-room.js";
import { type Duration, endOf, milliseconds, pointInTime } from "./duration.js";
import { type CallSite, type Identity, identify, rejecting, type Sited } from "./identity.js";
import { checkName } from "./name.js";
import { describeIssue, isSchema, type StandardSchema } from "./schema.js";
import { nobodyThere } from "./without-run.js";

export interface WaitOptions<T = unknown> {
  /** Shown with the open wait, for whoever answers. */
  payload?: unknown;
  /** Checks the answer; what it makes of it is what the code receives. Any Standard Schema. */
  schema?: StandardSchema<T>;
  /** How long to wait, from when the question is first asked, or until when. */
  timeout?: Duration | Date;
}

/** What a wait with a `timeout` comes to. */
export type WaitResult<T> = { timedOut: false; value: T } | { timedOut: true; value?: undefined };

export interface WaitFor extends Sited {
  /** Waits for an answer, but not longer than `timeout`. */
  <T>(name: string, options: WaitOptions<T> & { timeout: Duration | Date }): Promise<WaitResult<T>>;
  /** Waits for `app.answer(runId, name, value)`; `undefined` and `null` are answers too. */
  <T>(name: string, options?: WaitOptions<T> & { timeout?: undefined }): Promise<T>;
}

export const waitFor = ((...args: unknown[]) => rejecting(() => call(undefined, args))) as WaitFor;

waitFor.at = (frame, index, path, _captures, ...args) => rejecting((at) => call(at, args), { frame, index, path });

/** The fingerprint of a wait with a timeout: what it comes to has another shape. */
const timed = fingerprint(["timeout"]);

function call(at: CallSite | undefined, [name, given]: unknown[]): Promise<unknown> {
  checkName("The name of a wait", name, 'Call `waitFor("name")`.');
  const { payload, schema, limit } = readOptions("waitFor", given);
  const identity = identify("waitFor", at, undefined);
  if (identity === undefined) throw nobodyThere("waitFor");
  return ask(identity, name, { payload, schema, limit });
}

/** What was given to a wait, as `readOptions` reads it. */
export interface Asked {
  payload: unknown;
  schema: StandardSchema | undefined;
  /** Milliseconds, or a point in time. */
  limit: number | Date | undefined;
}

/** Asks for an answer under the key of an identity. */
export function ask(identity: Identity, name: string, { payload, schema, limit }: Asked): Promise<unknown> {
  const { execution, chain, within, entry, record } = identity;
  const args = limit === undefined ? "" : timed;
  const key = execution.keyOf(identity, args);
  const shown = encoded(execution.codec, payload, { runId: execution.id, key, at: placeOf(record) });
  return execution.ask({
    kind: "wait",
    key,
    args,
    chain,
    site: record,
    within,
    entry,
    start(call) {
      const known = call.recorded?.open;
      const since = known?.startedAt ?? execution.clock.now();
      const due = known?.due ?? (limit === undefined ? undefined : endOf(limit, since));
      const accept = acceptance(execution, schema, limit !== undefined);
      const open = (): void => {
        execution.waits.addWait({ name, call, since, ...(accept && { accept }) });
        const lookedFor = execution.inbox.read(call.key);
        if (due !== undefined) setLimit(execution, call, name, since, due, lookedFor);
      };
      if (known) return open();
      const details = { name, value: shown, startedAt: since, endedAt: since, ...(due !== undefined && { due }) };
      execution.announce(call, "open", details, open);
    },
  });
}

/** @param name the function that was given them, for messages */
export function readOptions(name: string, options: unknown): Asked {
  if (options !== undefined && (typeof options !== "object" || options === null)) {
    throw new InvalidArgumentError(
      `The options of \`${name}\` are no object`,
      `Call \`${name}("name", { payload })\`.`,
    );
  }
  const { payload, schema, timeout } = (options ?? {}) as WaitOptions;
  if (schema !== undefined && !isSchema(schema)) {
    throw new InvalidArgumentError(
      `The \`schema\` of \`${name}\` is no Standard Schema`,
      "Give one of a library that has them, such as Zod, Valibot or ArkType.",
    );
  }
  return { payload, schema, limit: timeout === undefined ? undefined : limitOf(timeout) };
}

function limitOf(timeout: Duration | Date): number | Date {
  return isA(timeout, Date) ? pointInTime(timeout, "`timeout`") : milliseconds(timeout, "`timeout`");
}

/** What becomes of an answer on its way in; undefined if it is taken as it comes. */
function acceptance(
  { codec }: Execution,
  schema: StandardSchema | undefined,
  timed: boolean,
): ((given: string) => CheckedAnswer | Promise<CheckedAnswer>) | undefined {
  if (schema === undefined && !timed) return undefined;
  const kept = (value: unknown): CheckedAnswer => ({
    ok: true,
    value: codec.encode(timed ? { timedOut: false, value } : value),
  });
  if (schema === undefined) return (given) => kept(codec.decode(given));
  return async (given) => {
    const result = await schema["~standard"].validate(codec.decode(given));
    return result.issues ? { ok: false, issues: result.issues.map(describeIssue) } : kept(result.value);
  };
}

/** @param lookedFor when an answer that came before would have been found, however slow the store is */
function setLimit(
  execution: Execution,
  call: Call,
  name: string,
  since: number,
  due: number,
  lookedFor: Promise<void>,
): void {
  const { waits, codec, clock } = execution;
  const fire = (): void => {
    if (!waits.close(call.key)) return;
    const outcome = { state: "done", value: codec.encode({ timedOut: true }) } as const;
    execution.finished(call, outcome, { name, due, timedOut: true, startedAt: since, endedAt: clock.now() });
  };
  waits.addTimer(call.key, due, fire, (alarm) => {
    let isCancelled = false;
    let cancel = (): void => {
      isCancelled = true;
    };
    void lookedFor.then(() => {
      if (!isCancelled) cancel = at(clock, due, alarm);
    });
    return () => cancel();
  });
}
