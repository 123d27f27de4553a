import { SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { child, memoryStore, Stepmark, step, waitFor, workflow } from "stepmark";
import { openTelemetry } from "stepmark/telemetry";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { die, Kill } from "../support/kill.js";
import { isChildOf, registerSdk, type Sdk } from "./spans.js";

let sdk: Sdk;
beforeEach(() => {
  sdk = registerSdk();
});
afterEach(() => sdk.remove());

const charge = async (amount: number): Promise<number> => amount;

describe("spans", () => {
  it("are one for the run and one for each step, which says where it stands", async () => {
    const pay = workflow("pay", async (amount: number) => (await step(charge, amount)) + (await step(charge, 1)));
    const app = new Stepmark({ store: memoryStore(), workflows: [pay], telemetry: openTelemetry() });
    await (await app.start(pay, 41, { id: "pay-1" })).result();
    await app.shutdown();
    const run = sdk.one("run pay");
    expect(run.kind).toBe(SpanKind.INTERNAL);
    expect(run.parentSpanContext).toBeUndefined();
    expect(run.links).toEqual([]);
    expect(run.attributes).toEqual({
      "stepmark.run.id": "pay-1",
      "stepmark.workflow": "pay",
      "stepmark.recorded": 0,
      "stepmark.status": "completed",
    });
    const steps = sdk.named("step charge");
    expect(steps.map(({ attributes }) => attributes)).toEqual(
      ["pay/charge", "pay/charge~1"].map((key) => ({
        "stepmark.run.id": "pay-1",
        "stepmark.workflow": "pay",
        "stepmark.key": key,
        "stepmark.at": expect.stringMatching(/^test\/telemetry\/spans\.test\.ts:\d+$/),
        "stepmark.attempt": 1,
        "stepmark.status": "done",
      })),
    );
    expect(steps.every((span) => isChildOf(span, run) && span.status.code === SpanStatusCode.UNSET)).toBe(true);
    expect(sdk.exporter.getFinishedSpans()).toHaveLength(3);
  });

  it("of steps inside a step, and of what bodies trace themselves, hang on the step around, however branches run", async () => {
    const tracer = trace.getTracer("the user's");
    const request = async (): Promise<void> => tracer.startActiveSpan("request", async (span) => span.end());
    const both = workflow("both", async () =>
      Promise.all(
        ["a", "b"].map((name) =>
          step("outer", async () => {
            await new Promise((resolve) => setTimeout(resolve, name === "a" ? 20 : 5));
            await step("inner", request);
            return name;
          }),
        ),
      ),
    );
    const app = new Stepmark({ store: memoryStore(), workflows: [both], telemetry: openTelemetry() });
    await (await app.start(both)).result();
    await app.shutdown();
    const [outers, inners, requests] = ["step outer", "step inner", "request"].map((name) => sdk.named(name));
    const keyOf = ({ attributes }: { attributes: object }): unknown =>
      (attributes as Record<string, unknown>)["stepmark.key"];
    expect(outers!.map(keyOf).sort()).toEqual(["both/map()/outer", "both/map()[1]/outer"]);
    for (const inner of inners!) {
      const outer = outers!.find((span) => isChildOf(inner, span));
      expect(keyOf(inner)).toBe(`${String(keyOf(outer!))}/inner`);
      expect(requests!.filter((span) => isChildOf(span, inner))).toHaveLength(1);
    }
    expect(inners).toHaveLength(2);
    expect(outers!.every((span) => isChildOf(span, sdk.one("run both")))).toBe(true);
  });

  it("are one for each attempt of a step with retries, with its error", async () => {
    let calls = 0;
    const flaky = async (): Promise<string> => {
      if (++calls < 3) throw new RangeError(`call ${calls}`);
      return step("last", async () => "done");
    };
    const retried = workflow("retried", async () => step({ retries: 3, backoff: 1 }, flaky));
    const app = new Stepmark({ store: memoryStore(), workflows: [retried], telemetry: openTelemetry() });
    await (await app.start(retried)).result();
    await app.shutdown();
    const whole = sdk.one("step flaky");
    expect(whole.attributes).toMatchObject({ "stepmark.attempt": 3, "stepmark.status": "done" });
    expect(whole.status.code).toBe(SpanStatusCode.UNSET);
    const attempts = sdk.named("attempt flaky");
    expect(attempts.map(({ attributes }) => [attributes["stepmark.attempt"], attributes["stepmark.status"]])).toEqual([
      [1, "failed"],
      [2, "failed"],
      [3, "done"],
    ]);
    expect(attempts[1]!.status).toEqual({ code: SpanStatusCode.ERROR, message: "call 2" });
    expect(attempts[1]!.events[0]!.attributes).toMatchObject({
      "exception.type": "RangeError",
      "exception.message": "call 2",
    });
    expect(attempts.every((span) => isChildOf(span, whole))).toBe(true);
    expect(isChildOf(sdk.one("step last"), attempts[2]!)).toBe(true);
  });

  it("of what fails have the error, and its code", async () => {
    const failing = workflow("failing", async () => step("bad", async () => new WeakMap()));
    const app = new Stepmark({ store: memoryStore(), workflows: [failing], telemetry: openTelemetry() });
    await expect((await app.start(failing)).result()).rejects.toThrow();
    await app.shutdown();
    for (const name of ["step bad", "run failing"]) {
      const span = sdk.one(name);
      expect(span.status.code).toBe(SpanStatusCode.ERROR);
      expect(span.attributes).toMatchObject({ "stepmark.status": "failed", "stepmark.error.code": "SERIALISATION" });
    }
  });

  it("of a run hang on what was active where it was started, and those of a child run on its parent's", async () => {
    const inner = workflow("inner", async () => step(charge, 1));
    const outer = workflow("outer", async () => child(inner, undefined));
    const app = new Stepmark({ store: memoryStore(), workflows: [outer], telemetry: openTelemetry() });
    await trace.getTracer("the user's").startActiveSpan("request", async (span) => {
      await (await app.start(outer)).result();
      span.end();
    });
    await app.shutdown();
    expect(isChildOf(sdk.one("run outer"), sdk.one("request"))).toBe(true);
    expect(isChildOf(sdk.one("run inner"), sdk.one("run outer"))).toBe(true);
    expect(isChildOf(sdk.one("step charge"), sdk.one("run inner"))).toBe(true);
  });

  it("end with the run where a body does not", async () => {
    const kill = new Kill();
    const stuck = workflow("stuck", async () => step("forever", () => kill.here()));
    const app = new Stepmark({ store: memoryStore(), workflows: [stuck], telemetry: openTelemetry() });
    await app.start(stuck);
    await kill.reached;
    await app.shutdown();
    expect(sdk.one("run stuck").attributes["stepmark.status"]).toBe("left");
    expect(sdk.one("step forever").attributes["stepmark.status"]).toBe("cut off");
  });
});

describe("a run that goes on", () => {
  const kill = new Kill();
  const flow = workflow("flow", async () => {
    await step("first", async () => 1);
    await step("second", () => kill.here());
    return waitFor("go");
  });

  it("is linked to what was traced of it before, and traces only what it does", async () => {
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [flow], telemetry: openTelemetry() });
    const after = await die(store, kill, app.start(flow, undefined, { id: "run" }));
    const [first] = await after.entries("run");
    expect(first!.trace).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    const before = sdk.one("step first").parentSpanContext!;
    const again = new Stepmark({ store: after, workflows: [flow], telemetry: openTelemetry() });
    const run = await again.resume("run");
    await run.settled();
    await again.shutdown();
    const resumed = sdk.one("run flow");
    expect(resumed.links.map((link) => [link.context.traceId, link.context.spanId])).toEqual([
      [before.traceId, before.spanId],
    ]);
    expect(resumed.spanContext().traceId).not.toBe(before.traceId);
    expect(resumed.attributes).toMatchObject({ "stepmark.recorded": 1, "stepmark.status": "left" });
    expect(sdk.named("step first")).toHaveLength(1);
    expect(isChildOf(sdk.one("step second"), resumed)).toBe(true);
    const traces = (await after.entries("run")).map((entry) => entry.trace);
    expect(traces).toEqual([first!.trace, spelt(resumed.spanContext()), undefined]);

    const third = new Stepmark({ store: after, workflows: [flow], telemetry: openTelemetry() });
    const last = await third.resume("run");
    await third.answer("run", "go", "yes");
    expect(await last.result()).toBe("yes");
    await third.shutdown();
    expect(sdk.named("run flow")[1]!.links[0]!.context.spanId).toBe(resumed.spanContext().spanId);
  });
});

function spelt({ traceId, spanId }: { traceId: string; spanId: string }): string {
  return `00-${traceId}-${spanId}-01`;
}

describe("without telemetry", () => {
  const plain = workflow("plain", async () => step(charge, 1));
  const recorded = async (app: Stepmark): Promise<Array<string | undefined>> => {
    const run = await app.start(plain);
    await run.result();
    const entries = await app.entries(run.id);
    await app.shutdown();
    return entries.map(({ trace: id }) => id);
  };

  it("nothing is traced, and nothing recorded", async () => {
    expect(await recorded(new Stepmark({ store: memoryStore(), workflows: [plain] }))).toEqual([undefined]);
    expect(sdk.exporter.getFinishedSpans()).toEqual([]);
  });

  it("and where no SDK is registered it is the same", async () => {
    sdk.remove();
    expect(
      await recorded(new Stepmark({ store: memoryStore(), workflows: [plain], telemetry: openTelemetry() })),
    ).toEqual([undefined]);
  });
});
