/** Edits of code under runs in flight, with a lock file: each recorded call keeps its record, or the run is refused. */
import { type MemoryStore, memoryStore, Stepmark } from "stepmark";
import { describe, expect, it } from "vitest";
import { parseLock, printLock } from "../../transformer/lock/lock-file.js";
import type { LockLine } from "../../transformer/lock/lock-line.js";
import { accept, load, type Sources } from "./project.js";

let ran: string[] = [];
let results = 0;
const note = (label: string, ...args: unknown[]): string => {
  ran.push([label, ...args].join(":"));
  return `${label}#${++results}`;
};
const imports = { bodies: { note, charge: async (...xs: unknown[]) => note("charge", ...xs) } };

const bodies = (...names: string[]): string =>
  names.map((name) => `const ${name} = async (...xs: unknown[]) => note("${name}", ...xs);\n`).join("");
const head = `import { step, workflow } from "stepmark";\nimport { note } from "bodies";\n`;
const all = bodies("charge", "mail", "ship", "poll", "audit");
const flow = (body: string, before = ""): Sources => ({
  "flow.ts": `${head}${all}${before}\nexport const w = workflow("w", async (x: any) => {\n${body}\n});`,
});

interface Outcome {
  output?: unknown;
  code?: string;
  ran: string[];
  orphans: string[];
}

async function record(sources: Sources, lines: readonly LockLine[] | undefined): Promise<MemoryStore> {
  ran = [];
  results = 0;
  const store = memoryStore();
  const w = load(sources, lines, imports);
  const app = new Stepmark({ store, workflows: [w] });
  await (await app.start(w, undefined, { id: "run" })).result();
  await app.shutdown();
  return store;
}

async function resume(
  store: MemoryStore,
  kept: number,
  sources: Sources,
  lines: readonly LockLine[] | undefined,
): Promise<Outcome> {
  ran = [];
  results = kept;
  const app = new Stepmark({ store, workflows: [load(sources, lines, imports)], grace: 20, stallAfter: 200 });
  const run = await app.resume("run");
  const outcome = await run.result().then(
    (output) => ({ output }),
    (error: { code?: string }) => {
      if (error.code === undefined) throw error;
      return { code: error.code };
    },
  );
  const { orphans } = await app.get("run");
  await app.shutdown();
  return { ...outcome, ran, orphans };
}

/** Records v1 under its lock file, keeps `kept` entries, and resumes with v2: under the old lock file, and under the accepted one. */
async function edit(
  v1: Sources,
  v2: Sources,
  kept: number,
): Promise<{ unlocked: Outcome; build: Outcome; accepted: Outcome; lines: LockLine[] }> {
  const { lines } = accept([], v1);
  const plain = await record(v1, undefined);
  const unlocked = await resume(plain.fork("run", kept), kept, v2, undefined);
  const store = await record(v1, lines);
  const build = await resume(store.fork("run", kept), kept, v2, lines);
  const after = accept(lines, v2);
  expect(accept(after.lines, v2).lines).toEqual(after.lines);
  const accepted = await resume(store.fork("run", kept), kept, v2, after.lines);
  return { unlocked, build, accepted, lines: after.lines };
}

describe("E3: a second call of one name before a recorded one", () => {
  const v1 = flow("return [await step(charge, 1)];");
  const v2 = flow("const first = await step(charge, 0); return [await step(charge, 1), first];");

  it("is refused without the lock file, and kept with it, accepted or not", async () => {
    const { unlocked, build, accepted } = await edit(v1, v2, 1);
    expect(unlocked).toMatchObject({ code: "AMBIGUOUS_SITE", ran: [] });
    for (const outcome of [build, accepted])
      expect(outcome).toMatchObject({ output: ["charge#1", "charge#2"], ran: ["charge:0"] });
  });

  it("with the same text: by what is made of it", async () => {
    const { unlocked, build, accepted } = await edit(
      flow("const a = await step(poll); return [a];"),
      flow("const b = await step(poll); const a = await step(poll); return [a, b];"),
      1,
    );
    expect(unlocked).toMatchObject({ code: "AMBIGUOUS_SITE", ran: [] });
    for (const outcome of [build, accepted])
      expect(outcome).toMatchObject({ output: ["poll#1", "poll#2"], ran: ["poll"] });
  });
});

it("swapped twins keep their records", async () => {
  const { unlocked, build, accepted } = await edit(
    flow("const a = await step(poll); const b = await step(poll); return { a, b };"),
    flow("const b = await step(poll); const a = await step(poll); return { a, b };"),
    2,
  );
  expect(unlocked).toMatchObject({ code: "AMBIGUOUS_SITE" });
  for (const outcome of [build, accepted])
    expect(outcome).toMatchObject({ output: { a: "poll#1", b: "poll#2" }, ran: [] });
});

it("E4: a step that is removed is an orphan once that is accepted", async () => {
  const { unlocked, build, accepted } = await edit(
    flow("const a = await step(charge); await step(mail); return [a, await step(ship)];"),
    flow("const a = await step(charge); return [a, await step(ship)];"),
    2,
  );
  for (const outcome of [unlocked, build]) expect(outcome).toMatchObject({ code: "RETIRED_SITE", ran: [] });
  expect(accepted).toMatchObject({ output: ["charge#1", "ship#3"], ran: ["ship"], orphans: ["w/mail"] });
});

describe("E5", () => {
  it("a callee that is renamed is kept once that is accepted", async () => {
    const renamed = flow("const a = await step(bill, 1); return [a];", bodies("bill"));
    const v2 = { "flow.ts": renamed["flow.ts"]!.replace(/const charge = .*\n/, "") };
    const { unlocked, build, accepted } = await edit(flow("const a = await step(charge, 1); return [a];"), v2, 1);
    for (const outcome of [unlocked, build]) expect(outcome).toMatchObject({ ran: [] });
    for (const outcome of [unlocked, build]) expect(outcome.code).toMatch(/RETIRED_SITE|AMBIGUOUS_SITE/);
    expect(accepted).toMatchObject({ output: ["charge#1"], ran: [] });
  });

  const calls = "const a = await step(charge, 1); const b = await step(mail, a); return [a, b, await step(ship)];";
  const helper =
    "const pay = async () => { const a = await step(charge, 1); const b = await step(mail, a); return [a, b]; };";
  const viaHelper = "const [a, b] = await pay(); return [a, b, await step(ship)];";

  for (const kept of [1, 2, 3]) {
    it(`calls that are moved into a helper are kept once that is accepted, after ${kept} entries`, async () => {
      const { unlocked, build, accepted } = await edit(flow(calls), flow(viaHelper, helper), kept);
      for (const outcome of [unlocked, build]) expect(outcome.ran).toEqual([]);
      expect(accepted.output).toEqual(["charge#1", "mail#2", "ship#3"]);
      expect(accepted.ran).toEqual(["charge:1", "mail:charge#1", "ship"].slice(kept));
    });

    it(`and back again, after ${kept} entries`, async () => {
      const { accepted } = await edit(flow(viaHelper, helper), flow(calls), kept);
      expect(accepted.output).toEqual(["charge#1", "mail#2", "ship#3"]);
      expect(accepted.ran).toEqual(["charge:1", "mail:charge#1", "ship"].slice(kept));
    });
  }

  const loop = "const out: any[] = []; for (const n of [1, 2, 3]) out.push(await step(charge, n)); return out;";
  const callback = "return Promise.all([1, 2, 3].map(async (n) => step(charge, n)));";
  const inLoop = "const out: any[] = []; for (const n of [1, 2, 3]) out.push(await one(n)); return out;";
  const one = "async function one(n: number) { return step(charge, n); }";
  for (const [what, v1, v2] of [
    ["a loop that becomes callbacks", flow(loop), flow(callback)],
    ["callbacks that become a loop", flow(callback), flow(loop)],
    ["a loop whose body is moved into a helper", flow(loop), flow(inLoop, one)],
    ["a helper that is moved into the loop", flow(inLoop, one), flow(loop)],
    [
      "callbacks whose body is moved into a helper",
      flow(callback),
      flow("return Promise.all([1, 2, 3].map(async (n) => one(n)));", one),
    ],
  ] as const) {
    for (const kept of [1, 2, 3]) {
      it(`${what} is kept once that is accepted, after ${kept} entries`, async () => {
        const { unlocked, build, accepted } = await edit(v1, v2, kept);
        for (const outcome of [unlocked, build]) expect(outcome.ran).toEqual([]);
        expect(accepted.output).toEqual(["charge#1", "charge#2", "charge#3"]);
        expect(accepted.ran).toEqual(["charge:1", "charge:2", "charge:3"].slice(kept));
      });
    }
  }
});

it("a helper that is renamed, with what it calls, is kept once that is accepted", async () => {
  const helper = (name: string): string =>
    `const ${name} = async (n: number) => { await step(audit); return step(charge, n); };`;
  const { accepted } = await edit(
    flow("return [await pay(1), await pay(2)];", helper("pay")),
    flow("return [await bill(1), await bill(2)];", helper("bill")),
    3,
  );
  expect(accepted).toMatchObject({ output: ["charge#2", "charge#4"], ran: ["charge:2"] });
});

it("E4: what is gone with its file is an orphan once that is accepted", async () => {
  const helper = `${head}${bodies("mail")}export const tell = async () => { await step(mail); };`;
  const main = flow("const a = await step(charge); await tell(); return [a, await step(ship)];")["flow.ts"]!;
  const v1 = { "helper.ts": helper, "flow.ts": `import { tell } from "./helper.js";\n${main}` };
  const v2 = flow("const a = await step(charge); return [a, await step(ship)];");
  const { unlocked, build, accepted } = await edit(v1, v2, 2);
  for (const outcome of [unlocked, build]) expect(outcome).toMatchObject({ code: "RETIRED_SITE", ran: [] });
  expect(accepted).toMatchObject({ output: ["charge#1", "ship#3"], ran: ["ship"], orphans: ["w/tell()/mail"] });
});

it("an edit that was accepted and is taken back keeps what was gone, once that is accepted", async () => {
  const helper = "const tell = async () => { await step(mail); };";
  const v1 = flow(
    "const a = await step(charge, 1); await tell(); await step(audit); return [a, await step(ship)];",
    helper,
  );
  const v2 = flow("const a = await step(charge, 1); return [a, await step(ship)];");
  const first = accept([], v1).lines;
  const second = accept(first, v2).lines;
  expect(second.filter(({ retired }) => retired).length).toBeGreaterThan(2);
  const store = await record(v1, first);
  const third = accept(second, v1).lines;
  expect(third).toEqual(first);
  const middle = store.fork("run", 3);
  expect(await resume(middle, 3, v2, second)).toMatchObject({ output: ["charge#1", "ship#4"], ran: ["ship"] });
  const back = await resume(middle.fork("run", 4), 4, v1, third);
  expect(back).toMatchObject({ output: ["charge#1", "ship#4"], ran: [], orphans: [] });
});

describe("what is gone while something new does its work", () => {
  const helper = "const pay = async () => step(charge, 1);";
  const v1 = flow("const a = await pay(); const b = await pay(); return [a, b];", helper);
  const v2 = flow("const a = await step(charge, 1); const b = await pay(); return [a, b];", helper);

  it.each([1, 2])(
    "a helper inlined at one of its calls: is not retired but unclear, and refused, after %i entries",
    async (kept) => {
      const { accepted, lines } = await edit(v1, v2, kept);
      expect(lines.filter(({ unclear }) => unclear).map(({ anchor }) => anchor)).toEqual([
        expect.stringMatching(/^pay/),
      ]);
      expect(accepted).toMatchObject({ ran: [] });
      expect(accepted.code).toMatch(/RETIRED_SITE|AMBIGUOUS_SITE/);
    },
  );

  it("the same undone: the call that is gone may be the one in the helper", async () => {
    const { accepted, lines } = await edit(v2, v1, 2);
    expect(lines.filter(({ unclear }) => unclear)).toMatchObject([{ anchor: "charge", kind: "site" }]);
    expect(accepted).toMatchObject({ code: "RETIRED_SITE", ran: [] });
  });

  it("stays unclear at the next time, until somebody says that it is gone", async () => {
    const { lines } = await edit(v2, v1, 2);
    expect(accept(lines, v1).lines.some(({ unclear }) => unclear)).toBe(true);
    const said = printLock(lines).replace(/ unclear$/m, " retired");
    const store = await record(v2, accept([], v2).lines);
    const outcome = await resume(store.fork("run", 2), 2, v1, parseLock(said, "stepmark.lock").lines);
    expect(outcome).toMatchObject({ ran: ["charge:1"], orphans: ["w/charge"] });
  });

  it("or where it stands now: then the line that the place had is unclear", async () => {
    const { lines } = await edit(v2, v1, 2);
    const moved = `${printLock(lines)}moved flow.ts w() charge site to flow.ts pay{} charge\n`;
    const after = accept(parseLock(moved, "stepmark.lock").lines, v1).lines;
    const inPay = (each: readonly LockLine[]) =>
      each.find(({ container, kind }) => container === "pay{}" && kind === "site")!;
    const gone = lines.find(({ unclear }) => unclear)!;
    expect(inPay(after.filter(({ unclear }) => !unclear)).tag).toBe(gone.tag);
    expect(after.filter(({ unclear }) => unclear).map(({ tag }) => tag)).toEqual([inPay(lines).tag]);
  });

  it.each([
    ["a helper's call that becomes a step", "const b = await step(pay);"],
    ["or a workflow of its own", "const b = await payFlow(1);"],
    ["or a run of its own", 'const b = await child(payFlow, 1, { id: "child" });'],
  ])("%s is unclear, and refused; and so is the same taken back", async (_, call) => {
    const called = { ...flow(`const b = await pay(); return [b];`, helper) };
    const other = flow(`${call} return [b];`, `${helper}\nconst payFlow = workflow("pay", pay as any) as any;`);
    const changed = { "flow.ts": other["flow.ts"]!.replace("import { step,", "import { child, step,") };
    const there = await edit(called, changed, 1);
    expect(there.lines.filter(({ unclear }) => unclear)).toMatchObject([{ anchor: "pay", kind: "call" }]);
    const back = await edit(changed, called, 1);
    expect(back.lines.filter(({ unclear }) => unclear)).not.toEqual([]);
    for (const { unlocked, build, accepted } of [there, back]) {
      for (const outcome of [unlocked, build, accepted]) {
        expect(outcome.code).toMatch(/RETIRED_SITE|AMBIGUOUS_SITE/);
        expect(outcome.ran).toEqual([]);
      }
    }
  });

  it("a step without arguments that is renamed and extracted at once: by what is made of its result", async () => {
    const drawn = flow("const a = await step(poll); return [a, await step(ship)];");
    const extracted = flow(
      "const a = await ask(); return [a, await step(ship)];",
      `${bodies("question")}const ask = async () => step(question);`,
    );
    for (const [v1, v2, name] of [
      [drawn, extracted, "poll"],
      [extracted, drawn, "ask"],
    ] as const) {
      const { accepted, lines } = await edit(v1, v2, 1);
      expect(lines.filter(({ unclear }) => unclear)).toContainEqual(expect.objectContaining({ anchor: name }));
      expect(accepted.code).toMatch(/RETIRED_SITE|AMBIGUOUS_SITE/);
      expect(accepted.ran).toEqual([]);
    }
  });

  it("but not where a call is only taken away", async () => {
    const { accepted, lines } = await edit(v1, flow("const b = await pay(); return [b];", helper), 2);
    expect(lines.some(({ unclear }) => unclear)).toBe(false);
    expect(accepted.ran).toEqual([]);
  });
});

describe("a call that was edited, with one beside it that has the text that it had", () => {
  const v1 = flow("const a = await step(charge, x); return [a];");
  const v2 = flow("if (x === 2) await step(charge, x); const a = await step(charge, x, ...[]); return [a];");

  it("is not taken for the other one, nor done again: by a build or by `accept`", async () => {
    const { build, accepted, lines } = await edit(v1, v2, 1);
    for (const outcome of [build, accepted]) {
      expect(outcome.code).toMatch(/RETIRED_SITE|AMBIGUOUS_SITE/);
      expect(outcome.ran).toEqual([]);
    }
    expect(lines.filter(({ unclear }) => unclear)).toMatchObject([{ anchor: "charge", kind: "site" }]);
  });

  it("nor where it has got a name of its own, and a new one has its old name", async () => {
    const named = flow('const a = await step("charge it", charge, x, ...((await step(charge, 2)) && [])); return [a];');
    const before = accept([], v1).lines;
    const store = await record(v1, before);
    const { lines } = accept(before, named);
    expect(lines.filter(({ unclear }) => unclear)).toMatchObject([{ anchor: "charge", kind: "site" }]);
    expect(await resume(store.fork("run", 1), 1, named, lines)).toMatchObject({ code: "RETIRED_SITE", ran: [] });
  });

  it("is known where the lock file knows the other one already", async () => {
    const between = flow("if (x === 2) await step(charge, x); const a = await step(charge, x); return [a];");
    const before = accept([], v1).lines;
    const store = await record(v1, before);
    const after = accept(accept(before, between).lines, v2).lines;
    expect(await resume(store.fork("run", 1), 1, v2, after)).toMatchObject({ output: ["charge#1"], ran: [] });
  });

  it("is known among twins, of which one is as it was", async () => {
    const twins = flow("const a = await step(poll, 1); const b = await step(poll, 1); return { a, b };");
    const edited = flow("const a = await step(poll, 1); const b = await step(poll, 2); return { a, b };");
    const { accepted } = await edit(twins, edited, 2);
    expect(accepted).toMatchObject({ output: { a: "poll#1", b: "poll#2" }, ran: [] });
  });
});

describe("E5: a callee renamed, and its call moved into a helper or back, in one edit", () => {
  const inside = flow("const a = await step(charge, 1); return [a, await step(ship)];");
  const debit = 'const debit = async (...xs: unknown[]) => note("debit", ...xs);\n';
  const uncharged = (body: string, before: string): Sources => ({
    "flow.ts": flow(body, debit + before)["flow.ts"]!.replace(/const charge = .*\n/, ""),
  });
  const helper = uncharged(
    "const a = await pay(); return [a, await step(ship)];",
    "const pay = async () => step(debit, 1);",
  );

  it.each([
    ["moved", inside, helper],
    ["moved back", helper, inside],
    [
      "moved, and the name imported as another",
      inside,
      {
        "flow.ts": helper["flow.ts"]!.replace("import { note }", "import { note, charge as debit }").replace(debit, ""),
      },
    ],
  ])("%s: keeps its record", async (_, v1, v2) => {
    const { accepted, build, unlocked } = await edit(v1, v2, 1);
    for (const outcome of [unlocked, build]) {
      expect(outcome.code).toMatch(/RETIRED_SITE|AMBIGUOUS_SITE/);
      expect(outcome.ran).toEqual([]);
    }
    expect(accepted).toMatchObject({ ran: ["ship"], orphans: [] });
  });

  it("is unclear where its result is made something else of", async () => {
    const v2 = uncharged(
      "const b = [await pay()]; return [b, await step(ship)];",
      "const pay = async () => step(debit, 1);",
    );
    const { accepted, lines } = await edit(inside, v2, 1);
    expect(lines.filter(({ unclear }) => unclear)).toMatchObject([{ anchor: "charge" }]);
    expect(accepted).toMatchObject({ code: "RETIRED_SITE", ran: [] });
  });
});

describe("what keys still hold of a call that is gone", () => {
  const helper = "const pay = async () => step(charge, 1);";
  const bill = bodies("bill");
  const rest = "return [a, await step(ship)];";
  const charged = flow(`const a = await step(charge, 1); ${rest}`);
  const billed = flow(`const a = await step(bill, 1); ${rest}`, bill);
  const edits: ReadonlyArray<readonly [string, v1: Sources, v2: Sources, v3: Sources]> = [
    ["a helper inlined, then its call renamed", flow(`const a = await pay(); ${rest}`, helper), charged, billed],
    [
      "a helper inlined, then its call taken away",
      flow(`const a = await pay(); ${rest}`, helper),
      charged,
      flow(`const a = 0; ${rest}`),
    ],
    [
      "a function unwrapped, then its call renamed",
      flow(`const a = await (async () => step(charge, 1))(); ${rest}`),
      charged,
      billed,
    ],
    [
      "a callback made a loop, then its call renamed",
      flow(`const a = await Promise.all([1, 2].map(async (n) => step(charge, n))); ${rest}`),
      flow(`const a = []; for (const n of [1, 2]) a.push(await step(charge, n)); ${rest}`),
      flow(`const a = []; for (const n of [1, 2]) a.push(await step(bill, n)); ${rest}`, bill),
    ],
  ];

  describe.each(edits)("%s", (_, v1, v2, v3) => {
    it.each([1, 2])(
      "is kept by the first edit and refused by the second, which nobody has accepted, after %i entries",
      async (kept) => {
        const before = accept([], v1).lines;
        const store = await record(v1, before);
        const { lines } = accept(before, v2);
        const first = await resume(store.fork("run", kept), kept, v2, lines);
        expect(first.ran.filter((each) => each === "charge:1")).toEqual([]);
        expect(first).toMatchObject({ orphans: [] });
        const second = await resume(store.fork("run", kept), kept, v3, lines);
        expect(second).toMatchObject({ code: "RETIRED_SITE", ran: [] });
      },
    );
  });

  it("is gone with the last place under it, once that is accepted", async () => {
    const [, v1, v2, v3] = edits[1]!;
    const before = accept([], v1).lines;
    const store = await record(v1, before);
    const after = accept(accept(before, v2).lines, v3).lines;
    expect(await resume(store.fork("run", 1), 1, v3, after)).toMatchObject({
      ran: ["ship"],
      orphans: ["w/pay()/charge"],
    });
  });

  it("is not gone while that place is unclear", async () => {
    const [, v1, v2, v3] = edits[0]!;
    const before = accept([], v1).lines;
    const store = await record(v1, before);
    const after = accept(accept(before, v2).lines, v3).lines;
    expect(after.filter(({ unclear }) => unclear)).toMatchObject([{ anchor: "charge" }]);
    expect(await resume(store.fork("run", 1), 1, v3, after)).toMatchObject({ code: "RETIRED_SITE", ran: [] });
  });
});

describe("a line `moved`, written by hand", () => {
  const v1 = flow("const a = await step(charge, 1); return [a, await step(ship)];");
  // Nothing of the call is as it was.
  const v2 = flow("const a = await step(bill, 2, 3); return [a, await step(ship)];", bodies("bill"));
  const lockOf = (move: string): readonly LockLine[] =>
    parseLock(`${printLock(accept([], v1).lines)}${move}\n`, "stepmark.lock").lines;

  it("says that a call is another one's, for builds too", async () => {
    const store = await record(v1, accept([], v1).lines);
    const without = await resume(store.fork("run", 1), 1, v2, accept([], v1).lines);
    expect(without).toMatchObject({ code: "RETIRED_SITE", ran: [] });
    const lines = lockOf("moved flow.ts w() charge site to flow.ts w() bill");
    const build = await resume(store.fork("run", 1), 1, v2, lines);
    expect(build).toMatchObject({ output: ["charge#1", "ship#2"], ran: ["ship"] });
    const after = accept(lines, v2).lines;
    expect(after.some(({ movedTo }) => movedTo !== undefined)).toBe(false);
    const accepted = await resume(store.fork("run", 1), 1, v2, after);
    expect(accepted).toMatchObject({ output: ["charge#1", "ship#2"], ran: ["ship"] });
  });

  it("is refused if it is about nothing, or cannot be read", () => {
    expect(() => lockOf("moved flow.ts w() nothing site to flow.ts w() bill")).toThrow(/no line is about/);
    expect(() => lockOf("moved flow.ts w() charge to flow.ts w() bill")).toThrow(/it is not `moved/);
  });
});
