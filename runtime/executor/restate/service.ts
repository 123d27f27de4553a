/** The service that runs bodies for others, under Restate's SDK. */
import type { ServiceDefinition } from "@restatedev/restate-sdk";
import { type Duration, milliseconds } from "../../calls/duration.js";
import { InvalidArgumentError } from "../../errors.js";
import { type Codec, codec as makeCodec } from "../../journal/codec.js";
import { encoded } from "../../journal/encoded.js";
import { encodeError } from "../../run/live/outcome.js";
import { handedOut } from "../handed-out.js";
import { defaultService, type Functions, type Task, type Told } from "./wire.js";

export interface RestateServiceOptions {
  /** The functions that this service runs, each a handler of its name. */
  functions: Functions;
  /** Name of the service (default `stepmark`). */
  service?: string;
  /** As that of the app whose steps run here. */
  codec?: Codec;
  /** How long Restate knows a finished body again (default 7 days): as long as a run may be without a process. */
  retention?: Duration;
}

type Handlers = Record<string, (context: never, task: Task) => Promise<Told>>;

/**
 * A service for `serve({ services: [...] })` of `@restatedev/restate-sdk`. Each function runs in `ctx.run`, so that Restate
 * keeps its outcome. A body gets its context by `stepContext()`; it cannot call steps itself.
 *
 * @throws InvalidArgumentError
 */
export async function restateService(options: RestateServiceOptions): Promise<ServiceDefinition<string, Handlers>> {
  const { functions, service: name = defaultService, codec = makeCodec(), retention = "7d" } = options;
  const { service } = await import("@restatedev/restate-sdk");
  const handlers = Object.entries(functions).map(([name, fn]) => {
    if (!/^[A-Za-z]\w*$/.test(name)) {
      throw new InvalidArgumentError(
        `Restate takes no function of the name ${JSON.stringify(name)}`,
        "Give a name of letters, digits and underscores.",
      );
    }
    const handler = (context: Context, task: Task): Promise<Told> =>
      context.run(name, () => runBody(fn, task, codec, context.request().attemptCompletedSignal));
    return [name, handler] as const;
  });
  const idempotencyRetention = milliseconds(retention, "`retention`");
  return service({
    name,
    handlers: Object.fromEntries(handlers),
    options: { idempotencyRetention },
  }) as ServiceDefinition<string, Handlers>;
}

/** What is used of the SDK's context. */
interface Context {
  run<T>(name: string, action: () => Promise<T>): Promise<T>;
  request(): { attemptCompletedSignal: AbortSignal };
}

/** Whatever a body comes to is an outcome: it is the run's to decide whether to try again. */
async function runBody(
  fn: (...args: never[]) => unknown,
  { args, ...step }: Task,
  codec: Codec,
  signal: AbortSignal,
): Promise<Told> {
  const place = { runId: step.runId, key: step.key };
  try {
    const given = codec.decode(args) as never[];
    const value = await handedOut.run({ ...step, signal }, async () => fn(...given));
    return { state: "done", value: encoded(codec, value, place) };
  } catch (error) {
    return { state: "failed", value: encodeError(codec, error) };
  }
}
