/** What listeners cost a process: its end, and its memory. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Scripts, scripts } from "./child.js";

let children: Scripts;
beforeAll(() => {
  children = scripts();
});
afterAll(() => children.remove());

const head = `
  import { memoryStore, Stepmark, step, waitFor, workflow } from "stepmark";
  import { sqliteStore } from "stepmark/sqlite";
  const waits = workflow("waits", async () => {
    await step(async () => 1);
    return waitFor("go");
  });
`;

describe("a process", () => {
  it("ends although somebody listens to a run that waits, here or elsewhere", async () => {
    const { code, output, errors } = await children.run(`${head}
      const open = () => new Stepmark({ store: sqliteStore("exit.db"), workflows: [waits] });
      const listen = async (events) => {
        for await (const { type } of events) console.log(type);
      };
      const app = open();
      const run = await app.start(waits, undefined, { id: "run" });
      void listen(run.events());
      await run.settled();
      void listen(open().events("run"));
    `);
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    expect(output.trim().split("\n").sort()).toEqual(
      ["run.started", "step.completed", "wait.opened", "run.waiting"].flatMap((type) => [type, type]).sort(),
    );
  });

  it("stays while it listens to a run that another process drives", async () => {
    const { code, output } = await children.run(`${head}
      const open = () => new Stepmark({ store: sqliteStore("stay.db"), workflows: [slow] });
      let finish;
      const slow = workflow("slow", async () => step(() => new Promise((resolve) => (finish = resolve))));
      await open().start(slow, undefined, { id: "run" });
      const events = open().events("run");
      await events.next();
      // A timer that does not hold the process: only the listener does.
      setTimeout(() => finish("done"), 300).unref();
      for await (const { type } of events) console.log(type);
    `);
    expect({ code, output }).toEqual({ code: 0, output: "step.completed\nrun.completed\n" });
  });

  it("forgets listeners that were dropped, at any point, without a word", async () => {
    const { output, errors } = await children.run(`${head}
      let dropped = 0;
      let finalized = 0;
      const registry = new FinalizationRegistry(() => finalized++);
      const app = new Stepmark({ store: memoryStore(), workflows: [waits] });
      const run = await app.start(waits, undefined, { id: "run" });
      await run.settled();
      const drop = async (reads, pending) => {
        const events = run.events();
        registry.register(events, undefined);
        dropped++;
        for (let i = 0; i < reads; i++) await events.next();
        if (pending) { void events.next(); await events.return(); }
      };
      for (let round = 0; round < 20; round++) {
        for (const reads of [0, 1, 2, 4]) await drop(reads, false);
        await drop(4, true);
      }
      for (let i = 0; i < 10 && finalized < dropped; i++) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        gc();
      }
      console.log(JSON.stringify({ dropped, finalized }));
    `);
    expect(errors).toBe("");
    expect(JSON.parse(output)).toEqual({ dropped: 100, finalized: 100 });
  });

  it("holds a bounded part of the journal for a listener that has fallen behind", async () => {
    const { output } = await children.run(`${head}
      const many = workflow("many", async () => {
        for (let i = 0; i < 2_000; i++) await step(async () => String(i).padEnd(2_000));
      });
      const heap = () => { gc(); return process.memoryUsage().heapUsed; };
      const listeners = [];
      const run = async (id, listening) => {
        const store = sqliteStore(id + ".db", { synchronous: "NORMAL" });
        const run = await new Stepmark({ store, workflows: [many] }).start(many, undefined, { id });
        for (let i = 0; i < listening; i++) {
          const events = run.events();
          for (let read = 0; read < 3; read++) await events.next();
          listeners.push(events);
        }
        await run.result();
      };
      await run("first", 0);
      const before = heap();
      await run("none", 0);
      const without = heap();
      await run("some", 10);
      const together = heap();
      console.log(JSON.stringify({ perRun: without - before, perListener: (together - without) / 10 }));
    `);
    // The entries that they have not read take 4 MB.
    expect(JSON.parse(output).perListener).toBeLessThan(100_000);
  });
});
