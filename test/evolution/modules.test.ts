/** Which modules have a part in a run, as its journal has it. */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setImmediate as tick } from "node:timers/promises";
import { type AnyWorkflow, type MemoryStore, memoryStore, Stepmark } from "stepmark";
import { describe, expect, it } from "vitest";
import { treeOf } from "../../transformer/tree.js";
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

/** Some turns of the event loop, in which a body would start that nothing holds back. */
async function late(): Promise<void> {
  for (let i = 0; i < 20; i++) await tick();
}

/** A package of a workspace, built apart from the others. */
function folderOf(name: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), "stepmark-tree-"));
  writeFileSync(path.join(folder, "package.json"), JSON.stringify({ name }));
  return folder;
}

describe("what a tree is called", () => {
  it("is the package's name, and the way from there", () => {
    const folder = folderOf("@shop/flows");
    const inner = path.join(folder, "apps", "one");
    mkdirSync(inner, { recursive: true });
    expect(treeOf(folder)).toBe("@shop/flows");
    expect(treeOf(inner)).toBe("@shop/flows/apps/one");
    writeFileSync(path.join(inner, "package.json"), '{ "type": "module" }');
    expect(treeOf(path.join(inner, "."))).toBe("@shop/flows/apps/one");
  });
});

describe("two packages that were built apart, with modules of one path in one process", () => {
  const [one, other] = [folderOf("one"), folderOf("other")];
  const flowOf = (name: string, calls: string): string => `
    import { step, workflow } from "stepmark";
    export const log = [];
    const wait = async () => {};
    ${["charge", "pay", "ship"].map((each) => `const ${each} = async (x) => { log.push("${each}"); return "${each} " + x; };`).join("\n")}
    export const flow = workflow(${JSON.stringify(name)}, async () => ${calls});`;
  interface Built {
    flow: AnyWorkflow;
    log: string[];
  }
  const loaded = (root: string, source: string, imports = {}): Built =>
    build(source, { root, path: path.join(root, "src/flow.ts"), imports }) as unknown as Built;

  async function first({ flow }: Built): Promise<MemoryStore> {
    const store = memoryStore();
    await (await new Stepmark({ store, workflows: [flow] }).start(flow, undefined, { id })).result();
    return store;
  }
  async function resumed(store: MemoryStore, built: Built, options = {}): Promise<unknown> {
    built.log.length = 0;
    const app = new Stepmark({ store, workflows: [built.flow], grace: 500 });
    try {
      return await (await app.resume(id, options)).result();
    } catch (error) {
      return (error as { code: string }).code;
    } finally {
      await app.shutdown();
    }
  }

  it.each([
    ["the same places", "[await step(ship, 2), await wait().then(() => step(charge, 1))]"],
    ["other places", "step(pay, 1)"],
  ])(
    "I6: unchanged code is taken for unchanged, where the other has %s: what is asked for late is not overtaken",
    async (_, calls) => {
      const built = loaded(
        one,
        `import { wait } from "./wait";
      import { step, workflow } from "stepmark";
      export const log = [];
      export const process = { isFirst: true };
      const raw = async () => { if (!process.isFirst) await wait(); };
      const charge = async (x) => { log.push("charge"); return x; };
      const ship = async (x) => { if (process.isFirst) await wait(); log.push("ship"); return x; };
      export const flow = workflow("late", async () => {
        const order = [];
        await Promise.all([
          raw().then(() => step(charge, 1)).then((x) => order.push(x)),
          step(ship, 2).then((x) => order.push(x)),
        ]);
        return order;
      });`,
        { "./wait": { wait: late } },
      );
      const store = await first(built);
      // Of the two outcomes the first is that of the call which is asked for late.
      const journal = await store.entries(id);
      expect(journal.map(({ key }) => key)).toEqual(["late/then()/charge", "late/ship"]);
      (built as unknown as { process: { isFirst: boolean } }).process.isFirst = false;
      loaded(other, flowOf("late of other", calls));
      expect(await resumed(store.fork(id, 1), built)).toEqual([1, 2]);
    },
  );

  it("I3: an edit of one is not judged by the other's sites: a call that is gone is missed", async () => {
    const store = await first(loaded(one, flowOf("one", "[await step(charge, 1), await step(ship, 2)]")));
    const edited = loaded(one, flowOf("one", "[await step(pay, 1), await step(ship, 2)]"));
    // A workflow of that name too, of another app.
    loaded(other, flowOf("one", "[await step(charge, 1), await step(ship, 2)]"));
    expect(await resumed(store.fork(id, 2), edited)).toBe("RETIRED_SITE");
    expect(edited.log).toEqual([]);
    expect(await resumed(store.fork(id, 2), edited, { accept: "edits" })).toEqual(["pay 1", "ship 2"]);
  });

  it("a run that goes through both has each in its journal once, and goes on from every prefix", async () => {
    const helper = (name: string): string => `
      import { step } from "stepmark";
      const ${name} = async (x) => "${name}" + x;
      export const go = async (x) => step(${name}, x);`;
    const at = (root: string, name: string): object =>
      build(helper(name), { root, path: path.join(root, "src/index.ts") });
    const imports = { "./one": at(one, "p"), "./other": at(other, "q") };
    const built = loaded(
      one,
      `import { workflow } from "stepmark";
      import { go as p } from "./one";
      import { go as q } from "./other";
      export const log = [];
      export const flow = workflow("both", async () => {
        const out = [];
        for (let i = 0; i < 2; i++) out.push(await p(i), await q(i));
        return out;
      });`,
      imports,
    );
    const store = await first(built);
    const journal = await store.entries(id);
    expect(journal.flatMap(({ modules = [] }) => modules.map(([at, , , tree]) => `${tree}: ${at}`))).toEqual([
      "one: src/flow.ts",
      "one: src/index.ts",
      "other: src/index.ts",
    ]);
    for (let kept = 0; kept <= journal.length; kept++)
      expect(await resumed(store.fork(id, kept), built)).toEqual(["p0", "q0", "p1", "q1"]);
  });

  it("a journal of before, which names no trees, and a tree that is called otherwise by now", async () => {
    const source = flowOf("renamed", "[await step(charge, 1), await step(ship, 2)]");
    const store = await first(loaded(one, source));
    const renamed = loaded(folderOf("renamed"), source);
    expect(await resumed(store.fork(id, 1), renamed)).toEqual(["charge 1", "ship 2"]);
    expect(renamed.log).toEqual(["ship"]);
    const kept = store.fork(id, 1);
    const older: MemoryStore = {
      ...kept,
      entries: async (...asked) =>
        (await kept.entries(...asked)).map(({ modules, ...entry }) => ({
          ...entry,
          ...(modules && { modules: modules.map(([at, text, sites]) => [at, text, sites]) }),
        })),
    };
    expect(await resumed(older, renamed)).toEqual(["charge 1", "ship 2"]);
    expect((await kept.entries(id)).map(({ modules }) => modules?.length)).toEqual([1, undefined]);
  });
});
