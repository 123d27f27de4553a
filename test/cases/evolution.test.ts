/** Cases of the evolution kind and scenarios E: a run recorded by one build meets another. */
import { type AnyWorkflow, type MemoryStore, memoryStore, Stepmark } from "stepmark";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { build } from "../support/build.js";

const id = "run";
let ran: string[] = [];
const note = (label: string): string => {
  ran.push(label);
  return label;
};

const head = 'import { step, workflow } from "stepmark";\nimport { note } from "bodies";\n';
const flow = (source: string, path?: string, target?: ts.ScriptTarget): AnyWorkflow =>
  (build(head + source, { path, target, imports: { bodies: { note } } }) as { w: AnyWorkflow }).w;

const bodiesOf = (...names: string[]): string =>
  names.map((name) => `const ${name} = async (x?: unknown) => note("${name}");\n`).join("");

/** Runs `v1` and cuts its journal after `kept` entries. */
async function recorded(v1: string, kept: number, input?: unknown): Promise<MemoryStore> {
  ran = [];
  const w = flow(v1);
  const store = memoryStore();
  const app = new Stepmark({ store, workflows: [w] });
  await (await app.start(w, input, { id })).result();
  ran = [];
  return store.fork(id, kept);
}

async function resumed(store: MemoryStore, v2: AnyWorkflow, options = {}): Promise<unknown> {
  const app = new Stepmark({ store, workflows: [v2], grace: 20 });
  return (await app.resume(id, options)).result();
}

describe("evolution", () => {
  const v1 = `${bodiesOf("charge", "mail", "ship")}
    export const w = workflow("w", async () => {
      const c = await step(charge);
      const [x, y] = [await step(mail), await step(ship)];
      return [c, x, y];
    });`;
  const v2 = `${bodiesOf("audit", "charge", "mail", "ship")}
    export const w = workflow("w", async () => {
      await step(audit); // new
      const c = await step(charge);
      const [y, x] = [await step(ship), await step(mail)]; // swapped
      return [c, x, y];
    });`;

  for (const kept of [1, 2, 3]) {
    it(`B72, E2: a step inserted before recorded ones and two swapped, after ${kept} entries`, async () => {
      const store = await recorded(v1, kept);
      expect(await resumed(store, flow(v2))).toEqual(["charge", "mail", "ship"]);
      const once = ["charge", "mail", "ship"].slice(kept);
      expect([...ran].sort()).toEqual(["audit", ...once].sort());
    });
  }

  const renamed = `${bodiesOf("loadUser")}
    const getUser = (id: string) => step(loadUser, id);
    export const w = workflow("w", async (id: string) => {
      const r = await getUser(id);
      return r;
    });`;
  const before = `${bodiesOf("fetchUser")}
    export const w = workflow("w", async (id: string) => {
      const r = await step(fetchUser, id);
      return r;
    });`;

  it("B73, E5: a callee renamed and moved into a helper is refused before any body runs, naming the call", async () => {
    const store = await recorded(before, 1, "u1");
    await expect(resumed(store, flow(renamed))).rejects.toMatchObject({
      code: "RETIRED_SITE",
      message: expect.stringContaining("`fetchUser` (flow.ts:"),
    });
    expect(ran).toEqual([]);
    expect(await resumed(store, flow(renamed), { accept: "edits" })).toBe("loadUser");
    expect(ran).toEqual(["loadUser"]);
  });

  it("E4: a removed step is refused before any body runs; accepted, it is an orphan", async () => {
    const store = await recorded(v1, 2);
    const v3 = flow(`${bodiesOf("charge", "ship")}
      export const w = workflow("w", async () => [await step(charge), await step(ship)]);`);
    await expect(resumed(store, v3)).rejects.toMatchObject({ code: "RETIRED_SITE" });
    expect(ran).toEqual([]);
    const app = new Stepmark({ store, workflows: [v3] });
    expect(await (await app.resume(id, { accept: "edits" })).result()).toEqual(["charge", "ship"]);
    expect((await app.get(id)).orphans).toEqual(["w/mail"]);
  });

  const one = `${bodiesOf("poll", "other")}
    export const w = workflow("w", async () => {
      const a = await step(poll);
      return a;
    });`;
  const edits: Array<[string, string]> = [
    ["a line above", `\n\n// a comment\n${one}`],
    ["another function above", `const helper = async () => step(other);\nvoid helper;\n${one}`],
    ["another step in another function", `${one}\nexport const x = workflow("x", async () => step(other));`],
    ["a renamed local", one.replaceAll("const a =", "const answer =").replaceAll("return a", "return answer")],
    [
      "formatting and a type annotation",
      one.replace("const a = await step(poll)", "const a: string = (await step(\n  poll,\n))"),
    ],
    [
      "code wrapped in try",
      one.replace(
        "const a = await step(poll);\n      return a;",
        "try { const a = await step(poll); return a; } finally { }",
      ),
    ],
    [
      "code wrapped in if",
      one.replace(
        "const a = await step(poll);\n      return a;",
        "if (Math.PI > 3) { return await step(poll); }\n return null;",
      ),
    ],
    [
      "code wrapped in a loop",
      one.replace("const a = await step(poll);\n      return a;", "for (;;) { return await step(poll); }"),
    ],
  ];
  for (const [what, edited] of edits) {
    it(`B76, E1, E2: ${what} changes no key`, async () => {
      const store = await recorded(one, 1);
      expect(await resumed(store, flow(edited))).toBe("poll");
      expect(ran).toEqual([]);
    });
  }

  it("E1: a renamed file, another target: every key kept", async () => {
    const store = await recorded(one, 1);
    expect(await resumed(store.fork(), flow(one, "moved/elsewhere.ts"))).toBe("poll");
    expect(await resumed(store.fork(), flow(one, "flow.ts", ts.ScriptTarget.ES2017))).toBe("poll");
    expect(ran).toEqual([]);
  });

  for (const [where, source] of [
    ["before", "await step(poll);\n const a = await step(poll);"],
    ["after", "const a = await step(poll);\n await step(poll);"],
  ]) {
    it(`B76, E3: a second call of equal text ${where} the recorded one is refused, never given its result`, async () => {
      const store = await recorded(one, 1);
      const edited = flow(one.replace("const a = await step(poll);", source!));
      await expect(resumed(store, edited)).rejects.toMatchObject({ code: "AMBIGUOUS_SITE" });
      expect(ran).toEqual([]);
    });
  }

  const withArgument = `${bodiesOf("poll")}
    export const w = workflow("w", async () => {
      const a = await step(poll, "mine");
      return a;
    });`;

  it("E3: a second call of the same anchor and other text before the recorded one is refused", async () => {
    const store = await recorded(withArgument, 1);
    const edited = flow(withArgument.replace("const a =", 'await step(poll, "new");\n const a ='));
    await expect(resumed(store, edited)).rejects.toMatchObject({ code: "AMBIGUOUS_SITE" });
    expect(ran).toEqual([]);
  });

  it("§8: a call of the same anchor and other text after the recorded one is a new step", async () => {
    const store = await recorded(withArgument, 1);
    const edited = flow(withArgument.replace("return a;", 'await step(poll, "new"); return a;'));
    expect(await resumed(store, edited)).toBe("poll");
    expect(ran).toEqual(["poll"]);
  });

  it("§8: a call whose text changed and whose anchor is alone is a hit, reported as edited", async () => {
    const store = await recorded(withArgument, 1);
    const edited = flow(withArgument.replace('"mine"', '"changed"'));
    const app = new Stepmark({ store, workflows: [edited] });
    expect(await (await app.resume(id)).result()).toBe("poll");
    expect((await app.get(id)).edited).toEqual(["w/poll"]);
    expect(ran).toEqual([]);
  });

  it("§8: changed module, same text, other arguments: refused, unless edits are accepted", async () => {
    const source = `${bodiesOf("poll")}
      const target = "one";
      export const w = workflow("w", async () => step(poll, target));`;
    const store = await recorded(source, 1);
    const edited = flow(source.replace('"one"', '"two"'));
    await expect(resumed(store.fork(), edited)).rejects.toMatchObject({
      code: "REPLAY_MISMATCH",
      message: expect.stringMatching(/recorded .*one.*asked for .*two/),
    });
    expect(await resumed(store.fork(), edited, { accept: "edits" })).toBe("poll");
    expect(ran).toEqual([]);
  });

  it("E3: a second call of one helper inserted before a recorded one is refused", async () => {
    const helped = `${bodiesOf("poll")}
      const helper = async (x: string) => step(poll, 1);
      export const w = workflow("w", async () => {
        const a = await helper("mine");
        return a;
      });`;
    const store = await recorded(helped, 1);
    const edited = flow(helped.replace("const a =", 'await helper("new");\n const a ='));
    await expect(resumed(store, edited)).rejects.toMatchObject({ code: "AMBIGUOUS_SITE" });
    expect(ran).toEqual([]);
  });

  it("A11: a recorded parent whose code changed stays a hit, reported as edited; nothing inside runs", async () => {
    const parent = `${bodiesOf("inner")}
      const outer = async () => step(inner);
      export const w = workflow("w", async () => step(() => outer()));`;
    const store = await recorded(parent, 2);
    const edited = flow(parent.replace("step(() => outer())", "step(() => outer().then((x) => x))"));
    const app = new Stepmark({ store, workflows: [edited] });
    expect(await (await app.resume(id)).result()).toBe("inner");
    expect((await app.get(id)).edited).toEqual(["w/outer"]);
    expect(ran).toEqual([]);
  });

  it("B72: two versions of a workflow in one file: the inserted step runs, recorded ones are hits", async () => {
    const both = `${bodiesOf("audit", "charge", "mail")}
      export const v1 = workflow("w", async () => { const c = await step(charge); return [c, await step(mail)]; });
      export const v2 = workflow("w", async () => { await step(audit); const c = await step(charge); return [c, await step(mail)]; });`;
    const builds = build(head + both, { imports: { bodies: { note } } }) as { v1: AnyWorkflow; v2: AnyWorkflow };
    ran = [];
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [builds.v1] });
    await (await app.start(builds.v1, undefined, { id })).result();
    expect(await resumed(store.fork(id, 1), builds.v2)).toEqual(["charge", "mail"]);
    expect(ran).toEqual(["charge", "mail", "audit", "mail"]);
  });

  it("B74: a package's new release, in another folder, keeps the entries of its steps", async () => {
    const released = (folder: string): { publish: unknown } =>
      build(
        `import { step } from "stepmark"; import { note } from "bodies"; const send = async (x) => note("send:" + x);
         export const publish = (x) => step(send, x);`,
        { path: `${folder}/dist/flow.js`, imports: { bodies: { note } } },
      ) as { publish: unknown };
    const source = `import { workflow } from "stepmark"; import { publish } from "pkg";
      export const w = workflow("w", async () => { const r = await publish("x"); return r; });`;
    const app = (folder: string): AnyWorkflow =>
      build(source, { path: "app.ts", imports: { pkg: released(folder) } }).w as AnyWorkflow;
    ran = [];
    const store = memoryStore();
    const first = app("node_modules/pkg-1.0.0");
    await (await new Stepmark({ store, workflows: [first] }).start(first, undefined, { id })).result();
    expect(ran).toEqual(["send:x"]);
    for (const folder of ["node_modules/pkg-1.0.1", "node_modules/.pnpm/pkg@1.0.1/node_modules/pkg"]) {
      expect(await resumed(store.fork(id, 1), app(folder))).toBe("send:x");
      expect(ran).toEqual(["send:x"]);
    }
    expect((await store.entries(id))[0]!.key).toBe("w/publish()/send");
  });

  it("B61: imports used only in a step's body stay, and a site has one id in every build", async () => {
    const db = { query: async (s: string): Promise<string> => note(`q:${s}`) };
    const source = `import { step, workflow } from "stepmark"; import { db } from "./db"; import "./register";
      export const w = workflow("w", async () => {
        const tools = { q: async (s: string) => step(() => db.query(s)) };
        return tools.q("x");
      });`;
    const keys = new Set<string>();
    for (const target of [ts.ScriptTarget.ES2017, ts.ScriptTarget.ES2022, ts.ScriptTarget.ESNext]) {
      const imports = { "./db": { db } };
      expect(() => build(source, { target, imports })).toThrow("The build imports ./register");
      const { w } = build(source, { target, imports: { ...imports, "./register": {} } }) as { w: AnyWorkflow };
      const store = memoryStore();
      expect(await (await new Stepmark({ store, workflows: [w] }).start(w, undefined, { id })).result()).toBe("q:x");
      for (const { key } of await store.entries(id)) keys.add(key);
    }
    expect([...keys]).toEqual(["w/q()/query"]);
  });

  it("B77: a step added to a loop runs in each pass, recorded ones included, and stays so on later resumes", async () => {
    const loop = (added: string): string => `${bodiesOf("base", "extra")}
      export const w = workflow("w", async () => {
        const out = [];
        for (let i = 0; i < 3; i++) {
          out.push((await step(base, i)) + i);
          ${added}
        }
        return out;
      });`;
    const store = await recorded(loop(""), 2);
    const v2 = flow(loop("out.push((await step(extra, i)) + i);"));
    const expected = ["base0", "extra0", "base1", "extra1", "base2", "extra2"];
    expect(await resumed(store, v2)).toEqual(expected);
    expect([...ran].sort()).toEqual(["base", "extra", "extra", "extra"]);
    const journal = await store.entries(id);
    expect(journal.map(({ key }) => key).slice(0, 2)).toEqual(["w/base", "w/base@1"]);
    for (let kept = 2; kept <= journal.length; kept++) {
      ran = [];
      expect(await resumed(store.fork(id, kept), v2), `after ${kept} entries`).toEqual(expected);
      expect(ran).toHaveLength(journal.length - kept);
    }
  });
});
