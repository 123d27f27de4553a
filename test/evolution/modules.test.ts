/** Which modules have a part in a run, as its journal has it. */
import { type AnyWorkflow, type MemoryStore, memoryStore, Stepmark } from "stepmark";
import { describe, expect, it } from "vitest";
import { build } from "../support/build.js";

const id = "run";

describe("the modules that have a part in a run", () => {
  it("are told by its journal once each, though their code takes turns", async () => {
    const helper = (name: string): string => `
      import { step } from "stepmark";
      const body = async (x) => x;
      export const ${name} = async (x) => step(body, x);`;
    const imports = {
      "./one": build(helper("one"), { path: "one.ts" }),
      "./two": build(helper("two"), { path: "two.ts" }),
    };
    const source = `
      import { workflow } from "stepmark";
      import { one } from "./one";
      import { two } from "./two";
      export const flow = workflow("turns", async () => {
        for (let i = 0; i < 3; i++) { await one(i); await two(i); }
      });`;
    const { flow } = build(source, { path: "turns.ts", imports }) as { flow: AnyWorkflow };
    const store = memoryStore();
    await (await new Stepmark({ store, workflows: [flow] }).start(flow, undefined, { id })).result();
    const told = async (kept: MemoryStore): Promise<string[]> =>
      (await kept.entries(id)).flatMap(({ modules = [] }) => modules.map(([path]) => path));
    expect(await told(store)).toEqual(["turns.ts", "one.ts", "two.ts"]);
    const fork = store.fork(id, 1);
    await (await new Stepmark({ store: fork, workflows: [flow] }).resume(id)).result();
    expect(await told(fork)).toEqual(["turns.ts", "one.ts", "two.ts"]);
  });
});
