/** Restate's side and ours, against an ingress that stands in for Restate: it knows idempotency keys, and can be made to fail. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { memoryStore, Stepmark, step, stepContext, workflow } from "stepmark";
import { type RestateExecutorOptions, restateExecutor, restateService } from "stepmark/restate";
import { afterEach, beforeEach, expect, it } from "vitest";

class Declined extends Error {}

async function charge(card: string, at: Date): Promise<object> {
  const { runId, key, attempt, idempotencyKey } = stepContext();
  return { card, at, runId, key, attempt, known: idempotencyKey.length };
}

async function decline(): Promise<never> {
  throw new Declined("no money");
}

async function nest(): Promise<unknown> {
  return step(charge, "inner", new Date(0));
}

const functions = { charge, decline, nest };

/** What Restate does, as far as is needed here. */
class Ingress {
  readonly outcomes = new Map<string, unknown>();
  bodies = 0;
  /** What the next requests are answered with, in the place of an outcome. */
  readonly faults: Array<number | "cut"> = [];
  private server!: Server;

  async listen(): Promise<string> {
    // The handlers that the SDK would call, with the one method of its context that they use.
    const definition = (await restateService({ functions })) as unknown as {
      service: Record<string, (context: object, task: unknown) => Promise<unknown>>;
    };
    const context = {
      run: (_: string, action: () => unknown) => action(),
      request: () => ({ attemptCompletedSignal: new AbortController().signal }),
    };
    this.server = createServer(async (request, response) => {
      const body = await text(request);
      const fault = this.faults.shift();
      if (fault === "cut") return void request.socket.destroy();
      const handler = definition.service[request.url!.split("/").at(-1)!];
      const key = String(request.headers["idempotency-key"]);
      if (fault !== undefined || handler === undefined) return void response.writeHead(fault ?? 404).end("no");
      if (!this.outcomes.has(key)) {
        this.bodies++;
        this.outcomes.set(key, await handler(context, JSON.parse(body)));
      }
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(this.outcomes.get(key)));
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => this.server.once("listening", resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

const pay = workflow("pay", async () => step(charge, "card", new Date(5)));
const declined = workflow("declined", async () => step(decline));
const nested = workflow("nested", async () => step(nest));
const workflows = [pay, declined, nested];

let ingress: Ingress;
let url: string;

beforeEach(async () => {
  ingress = new Ingress();
  url = await ingress.listen();
});

afterEach(() => ingress.close());

function app(options: Partial<RestateExecutorOptions> = {}, store = memoryStore()): Stepmark {
  return new Stepmark({ store, workflows, executor: restateExecutor({ ingress: url, functions, ...options }) });
}

const charged = { card: "card", at: new Date(5), runId: "run", key: "pay/charge", attempt: 1, known: 40 };

it("values of all kinds come through, and the body knows its step", async () => {
  const run = await app().start(pay, undefined, { id: "run" });
  expect(await run.result()).toEqual(charged);
});

it("a driver that has lost the outcome gets it again, and the body has run once", async () => {
  const store = memoryStore();
  await (await app({}, store).start(pay, undefined, { id: "run" })).result();
  const resumed = await app({}, store.fork("run", 0)).start(pay, undefined, { id: "run" });
  expect(await resumed.result()).toEqual(charged);
  expect(ingress.bodies).toBe(1);
});

it("is asked again when it cannot answer or the connection is cut", async () => {
  ingress.faults.push(503, "cut", 429);
  const run = await app().start(pay, undefined, { id: "run" });
  expect(await run.result()).toEqual(charged);
  expect(ingress.bodies).toBe(1);
});

it("what a body throws there is thrown here", async () => {
  const run = await app().start(declined, undefined);
  await expect(run.result()).rejects.toThrow("no money");
});

it("a body there cannot call steps: that is refused, and not left unrecorded", async () => {
  const run = await app().start(nested, undefined);
  await expect(run.result()).rejects.toMatchObject({ code: "OUTSIDE_RUN" });
});

it.each([
  ["is not the service's", {}, [404], /knows no function "charge"/],
  ["is out of reach for too long", { patience: 1 }, ["cut", "cut", "cut", "cut"], /did not answer/],
  ["answers that it will not", {}, [400], /refused to run the body: 400 no/],
] as const)("fails the step when it %s", async (_, options, faults, message) => {
  ingress.faults.push(...faults);
  const run = await app(options).start(pay, undefined);
  const error = (await run.result().catch((error: unknown) => error)) as Error & { code: string };
  expect([error.code, error.message]).toEqual(["EXECUTOR", expect.stringMatching(message)]);
});

it("options that make no sense are refused", async () => {
  expect(() => restateExecutor({ ingress: "here", functions })).toThrow(/`ingress`/);
  expect(() => restateExecutor({ ingress: url, functions: { a: charge, b: charge } })).toThrow(/twice/);
  await expect(restateService({ functions: { "not a name": charge } })).rejects.toThrow(/takes no function/);
});
