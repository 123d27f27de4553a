/** Spans over real processes, the first of which is killed. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Scripts, scripts } from "../events/child.js";

let children: Scripts;
beforeAll(() => {
  children = scripts();
});
afterAll(() => children.remove());

/** Prints each span as it ends, so that those of a process that is killed are not lost. */
const head = `
  import { Stepmark, step, workflow } from "stepmark";
  import { sqliteStore } from "stepmark/sqlite";
  import { openTelemetry } from "stepmark/telemetry";
  import { BasicTracerProvider } from "@opentelemetry/sdk-trace-base";
  const printer = {
    onStart() {},
    onEnd: (span) => console.log(JSON.stringify({
      name: span.name,
      ...span.spanContext(),
      parent: span.parentSpanContext?.spanId,
      links: span.links.map(({ context }) => [context.traceId, context.spanId]),
      status: span.attributes["stepmark.status"],
    })),
    forceFlush: async () => {},
    shutdown: async () => {},
  };
  const tracer = new BasicTracerProvider({ spanProcessors: [printer] }).getTracer("test");
  let kill = false;
  const flow = workflow("flow", async () => {
    await step("first", async () => 1);
    await step({ name: "second", retries: 1 }, async () => {
      await step("inner", async () => 2);
      if (kill) process.kill(process.pid, "SIGKILL");
    });
  });
  const app = new Stepmark({ store: sqliteStore("flow.db"), workflows: [flow], telemetry: openTelemetry({ tracer }) });
`;

interface Told {
  name: string;
  traceId: string;
  spanId: string;
  parent?: string;
  links: string[][];
  status: string;
}

const told = (output: string): Told[] =>
  output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Told);

describe("a run whose process is killed", () => {
  it("is linked, in the process that resumes it, to what that process had traced", async () => {
    const first = await children.run(`${head}
      kill = true;
      await (await app.start(flow, undefined, { id: "run" })).result();
    `);
    expect(first.code).toBeNull();
    // What had ended: the run, the second step and its attempt had not.
    const before = told(first.output);
    expect(before.map(({ name }) => name)).toEqual(["step first", "step inner"]);
    const second = await children.run(`${head}
      await (await app.resume("run")).result();
      await app.shutdown();
    `);
    expect({ code: second.code, errors: second.errors }).toEqual({ code: 0, errors: "" });
    const after = told(second.output);
    expect(after.map(({ name, status }) => [name, status])).toEqual([
      ["attempt second", "done"],
      ["step second", "done"],
      ["run flow", "completed"],
    ]);
    expect(after[2]!.links).toEqual([[before[0]!.traceId, before[0]!.parent]]);
    expect(after.map(({ parent }) => parent)).toEqual([after[1]!.spanId, after[2]!.spanId, undefined]);
  });
});
