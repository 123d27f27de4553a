/** An application with runs of all sorts, for the commands that look at runs and drive them. */
import { expect } from "vitest";
import { installProgram, type Program } from "./program.js";

const flows = `import { existsSync, appendFileSync } from "node:fs";
import { child, codec as makeCodec, events, keyed, publish, sleep, step, waitFor, workflow } from "stepmark";

const note = async (label) => {
  appendFileSync("bodies.txt", label + "\\n");
  return label;
};
const book = async (quote) => {
  await note("book " + quote);
  if (existsSync("closed") && quote.includes("bb")) throw new TypeError("no parcel for " + quote, { cause: new Error("the depot is closed") });
  return "booked " + quote;
};
const untilOpen = async () => {
  console.log("body");
  while (!existsSync("open")) await new Promise((resolve) => setTimeout(resolve, 20));
  return "opened";
};

export const label = workflow("label", async (item) => step("print", note, "label of " + item));
export const order = workflow("order", async ({ items }) => {
  const paid = await step("charge", note, "charge");
  await publish("phase", "packing");
  const parcels = await Promise.all(
    items.map(async (item) => {
      const quote = await step("quote", note, item);
      return step({ name: "book", retries: 1, backoff: 1 }, book, quote);
    }),
  );
  const labels = [];
  for (const item of keyed(items, (each) => each)) labels.push(await child(label, item));
  const ok = await waitFor("approve", { payload: { parcels } });
  return { paid, labels, ok };
});
export const slow = workflow("slow", async () => {
  await step("before", note, "before");
  return step("open", untilOpen);
});
export const nap = workflow("nap", async () => {
  await sleep("1 day");
});
export const chat = workflow("chat", async () => {
  const heard = [];
  for await (const message of events("notes")) {
    heard.push(message);
    if (message === undefined) break;
  }
  return heard;
});
export const unsteady = workflow("unsteady", async () => {
  await step("before", note, "before");
  await step("sign", note, "signed by " + process.pid);
  await waitFor("never");
});
export class Point {
  constructor(x) { this.x = x; }
}
export const codec = makeCodec({ classes: [Point] });
export const point = workflow("point", async () => {
  await step("make", async () => new Point(3));
  await waitFor("never");
});
`;

const main = `import { Stepmark } from "stepmark";
import * as flows from "./flows.js";
const [name, id, input] = process.argv.slice(2);
const { codec, Point, ...workflows } = flows;
const app = new Stepmark({ workflows: Object.values(workflows), codec, lease: "3s" });
const run = await app.start(flows[name], input && JSON.parse(input), { id });
console.log((await run.settled()).status);
await app.shutdown();
`;

export interface Fixture extends Program {
  /** Starts a run in a process of its own, until it waits or has ended. */
  begin(workflow: string, id: string, input?: unknown): string;
  bodies(): string[];
}

export function makeFixture(name: string): Fixture {
  const program = installProgram(name);
  program.write("package.json", '{ "type": "module" }');
  program.write("src/flows.js", flows);
  program.write("src/main.js", main);
  expect(program.stepmark("transform", "src", "--out", "dist").stderr).toBe("");
  return {
    ...program,
    begin(workflow, id, input) {
      const given = input === undefined ? [] : [JSON.stringify(input)];
      const { stdout, stderr } = program.node("dist/main.js", workflow, id, ...given);
      expect(stderr).toBe("");
      return stdout.trim();
    },
    bodies: () => program.read("bodies.txt").trim().split("\n"),
  };
}
