/** Edits between builds: recorded work is kept with its own call or refused before any body runs; never moved, never done twice. */
import { type AnyWorkflow, memoryStore, Stepmark } from "stepmark";
import { expect, it } from "vitest";
import { build, forgetModules } from "../support/build.js";

/** A file, or several by path; the workflow is exported as `w` by the last. */
type Build = string | Record<string, string>;

interface Edit {
  name: string;
  v1: Build;
  v2: Build;
  /** `run:` with the bodies that the resumed run starts, with their arguments, or `refuse`; `*` for either without bodies. */
  expected: string;
  /** How many entries there are of the first build. */
  kept: number;
  /** Whether the modules of the first build stay loaded. */
  keep?: boolean;
}

const edits: Edit[] = [];
function add(name: string, v1: Build, v2: Build, expected: string, more: { kept: number; keep?: boolean }): void {
  edits.push({ name, v1, v2, expected, ...more });
}

let ran: string[] = [];
let results = 0;
const note = (label: string, ...xs: unknown[]): string => {
  ran.push([label, ...xs].join(":"));
  return `${label}#${++results}`;
};
/** Calls a function later, out of sight. */
const limit = <T>(f: () => T): Promise<Awaited<T>> => Promise.resolve().then(f) as Promise<Awaited<T>>;

const header =
  'import { step, workflow, keyed, waitFor, sleep, now } from "stepmark";\nimport { note, limit } from "bodies";\n';

function load(files: Build, keep = false): AnyWorkflow {
  if (!keep) forgetModules();
  const imports: Record<string, unknown> = { bodies: { note, limit } };
  let last: { [name: string]: unknown } = {};
  for (const [path, source] of Object.entries(typeof files === "string" ? { "flow.ts": files } : files)) {
    last = build(header + source, { path, imports });
    imports[`./${path.replace(/\.ts$/, ".js")}`] = last;
  }
  return last.w as AnyWorkflow;
}

const bodies = (...names: string[]): string =>
  names.map((x) => `const ${x} = async (...xs: any[]) => note("${x}", ...xs);\n`).join("");
const flow = (body: string, pre = ""): string =>
  `${bodies("charge", "mail", "ship", "poll", "pay")}${pre}\nexport const w = workflow("w", async (x: any) => {\n${body}\n});`;
add(
  "swap rule-2 callbacks",
  flow(
    `const a = limit(async () => { const r = await step(poll); return "A" + r; });\n const b = limit(async () => { const r = await step(poll); return "B" + r; });\n return [await a, await b];`,
  ),
  flow(
    `const b = limit(async () => { const r = await step(poll); return "B" + r; });\n const a = limit(async () => { const r = await step(poll); return "A" + r; });\n return [await a, await b];`,
  ),
  "refuse",
  { kept: 2 },
);
add(
  "insert rule-2 callback before",
  flow(`const a = limit(async () => "A" + (await step(poll)));\n return [await a];`),
  flow(
    `const z = limit(async () => "Z" + (await step(poll)));\n const a = limit(async () => "A" + (await step(poll)));\n return [await a, await z];`,
  ),
  "refuse",
  { kept: 1 },
);
add(
  "insert rule-2 callback after",
  flow(`const a = limit(async () => "A" + (await step(poll)));\n return [await a];`),
  flow(
    `const a = limit(async () => "A" + (await step(poll)));\n const z = limit(async () => "Z" + (await step(poll)));\n return [await a, await z];`,
  ),
  "run:poll",
  { kept: 1 },
);
add(
  "edit body of sole rule-2 callback",
  flow(`const a = limit(async () => "A" + (await step(poll)));\n return [await a];`),
  flow(`const a = limit(async () => { const q = 5; return "A" + q + (await step(poll)); });\n return [await a];`),
  "run:",
  { kept: 1 },
);
add(
  "replace one of two rule-2 named closures",
  flow(
    `const fs: any[] = []; { const go = async () => "A" + (await step(poll)); fs.push(go); } { const go = async () => "B" + (await step(poll)); fs.push(go); } return Promise.all(fs.map((f) => limit(f)));`,
  ),
  flow(
    `const fs: any[] = []; { const go = async () => "B" + (await step(poll)); fs.push(go); } { const go = async () => "C" + (await step(poll)); fs.push(go); } return Promise.all(fs.map((f) => limit(f)));`,
  ),
  "refuse",
  { kept: 2 },
);
add(
  "helper call moved into another helper",
  flow(`const a = await helper();\n return a;`, `const helper = async () => step(charge, 1);`),
  flow(
    `const a = await outer();\n return a;`,
    `const helper = async () => step(charge, 1);\nconst outer = async () => helper();`,
  ),
  "refuse",
  { kept: 1 },
);
add(
  "helper inlined",
  flow(`const a = await helper();\n return a;`, `const helper = async () => step(charge, 1);`),
  flow(`const a = await step(charge, 1);\n return a;`, `const helper = async () => step(charge, 1); void helper;`),
  "refuse",
  { kept: 1 },
);
add(
  "helper inlined, helper gone",
  flow(`const a = await helper();\n return a;`, `const helper = async () => step(charge, 1);`),
  flow(`const a = await step(charge, 1);\n return a;`),
  "refuse",
  { kept: 1 },
);
add(
  "extracted into existing-named helper",
  flow(`const a = await step(charge, 1);\n return a;`, `const helper = async () => step(charge, 1); void helper;`),
  flow(`const a = await helper();\n return a;`, `const helper = async () => step(charge, 1);`),
  "refuse",
  { kept: 1 },
);
add(
  "helper renamed",
  flow(`const a = await helper();\n return a;`, `const helper = async () => step(charge, 1);`),
  flow(`const a = await helper2();\n return a;`, `const helper2 = async () => step(charge, 1);`),
  "refuse",
  { kept: 1 },
);
add(
  "flatten nested loop",
  flow(
    `const out: any[] = []; for (const g of [[1, 2], [3, 4]]) for (const y of g) out.push(await step(charge)); return out;`,
  ),
  flow(`const out: any[] = []; for (const y of [1, 2, 3, 4]) out.push(await step(charge)); return out;`),
  "refuse",
  { kept: 4 },
);
add(
  "flatten nested loop with args",
  flow(
    `const out: any[] = []; for (const g of [[1, 2], [3, 4]]) for (const y of g) out.push(await step(charge, y)); return out;`,
  ),
  flow(`const out: any[] = []; for (const y of [1, 2, 3, 4]) out.push(await step(charge, y)); return out;`),
  "refuse",
  { kept: 4 },
);
add(
  "nest a loop",
  flow(`const out: any[] = []; for (const y of [1, 2, 3, 4]) out.push(await step(charge, y)); return out;`),
  flow(
    `const out: any[] = []; for (const g of [[1, 2], [3, 4]]) for (const y of g) out.push(await step(charge, y)); return out;`,
  ),
  "refuse",
  { kept: 4 },
);
add(
  "loop to map",
  flow(`const out: any[] = []; for (const y of [1, 2]) out.push(await step(charge, y)); return out;`),
  flow(`return Promise.all([1, 2].map(async (y) => step(charge, y)));`),
  "refuse",
  { kept: 2 },
);
add(
  "map to loop",
  flow(`return Promise.all([1, 2].map(async (y) => step(charge, y)));`),
  flow(`const out: any[] = []; for (const y of [1, 2]) out.push(await step(charge, y)); return out;`),
  "refuse",
  { kept: 2 },
);
add(
  "map to flatMap",
  flow(`return Promise.all([1, 2].map(async (y) => step(charge, y)));`),
  flow(`return Promise.all([1, 2].flatMap(async (y) => step(charge, y)));`),
  "refuse",
  { kept: 2 },
);
add(
  "index loop to keyed",
  flow(`const out: any[] = []; for (const y of [1, 2]) out.push(await step(charge, y)); return out;`),
  flow(
    `const out: any[] = []; for (const y of keyed([1, 2], (z) => String(z))) out.push(await step(charge, y)); return out;`,
  ),
  "refuse",
  { kept: 2 },
);
add(
  "loop order reversed",
  flow(`const out: any[] = []; for (const y of [1, 2]) out.push(await step(charge, y)); return out;`),
  flow(`const out: any[] = []; for (const y of [2, 1]) out.push(await step(charge, y)); return out;`),
  "refuse",
  { kept: 2 },
);
add(
  "function to arrow",
  flow(`return helper();`, `async function helper() { return step(charge, 1); }`),
  flow(`return helper();`, `const helper = async () => step(charge, 1);`),
  "run:",
  { kept: 1 },
);
add(
  "class method to function",
  flow(`return new A().helper();`, `class A { async helper() { return step(charge, 1); } }`),
  flow(`return helper();`, `const helper = async () => step(charge, 1);`),
  "*",
  { kept: 1 },
);
add(
  "helper moved to another file",
  flow(`return helper();`, `export const helper = async () => step(charge, 1);`),
  {
    "h.ts": `${bodies("charge")}export const helper = async () => step(charge, 1);`,
    "flow.ts": `import { helper } from "./h.js";\nexport const w = workflow("w", async (x: any) => { return helper(); });`,
  },
  "run:",
  { kept: 1 },
);
add(
  "helper's step renamed, other module has same names",
  {
    "other.ts": `${bodies("charge")}export const helper = async () => step(charge, 2);`,
    "flow.ts": flow(`return helper();`, `const helper = async () => step(charge, 1);`),
  },
  {
    "other.ts": `${bodies("charge")}export const helper = async () => step(charge, 2);`,
    "flow.ts": flow(`return helper();`, `const helper = async () => step(pay, 1);`),
  },
  "refuse",
  { kept: 1 },
);
add(
  "workflow's step renamed, unrelated workflow same anchor",
  `${flow(`return step(charge, 1);`)}\nexport const w2 = workflow("w2", async () => step(charge, 1));`,
  `${flow(`return step(pay, 1);`)}\nexport const w2 = workflow("w2", async () => step(charge, 1));`,
  "refuse",
  { kept: 1 },
);
add(
  "renamed workflow file and renamed step, old build still loaded",
  { "v1.ts": flow(`return helper();`, `const helper = async () => step(charge, 1);`) },
  { "v2.ts": flow(`return helper();`, `const helper = async () => step(pay, 1);`) },
  "refuse",
  { kept: 1, keep: true },
);
add(
  "v2 under another path, unchanged, old loaded",
  { "v1.ts": flow(`return helper();`, `const helper = async () => step(charge, 1);`) },
  { "v2.ts": flow(`return helper();`, `const helper = async () => step(charge, 1);`) },
  "run:",
  { kept: 1, keep: true },
);
add(
  "v2 under another path, inserted step",
  { "v1.ts": flow(`return step(charge);`) },
  { "v2.ts": flow(`await step(mail); return step(charge);`) },
  "run:mail",
  { kept: 1, keep: true },
);
add(
  "v2 under another path, renamed step",
  { "v1.ts": flow(`return step(charge);`) },
  { "v2.ts": flow(`return step(pay);`) },
  "refuse",
  { kept: 1, keep: true },
);
const inOneFile = (v1: string, v2: string, pre = ""): string =>
  `${bodies("charge", "mail", "ship", "poll", "pay")}${pre}\nexport const v1 = workflow("w", async (x: any) => {\n${v1}\n});\nexport const v2 = workflow("w", async (x: any) => {\n${v2}\n});`;
function same(name: string, a: string, b: string, expected: string, pre = "", kept = 1): void {
  const both = inOneFile(a, b, pre);
  add(`one file: ${name}`, `${both}\nexport const w = v1;`, `${both}\nexport const w = v2;`, expected, { kept });
}
same("inserted", `return step(charge);`, `await step(mail); return step(charge);`, "run:mail");
same(
  "swapped",
  `const a = await step(mail); const b = await step(ship); return [a, b];`,
  `const b = await step(ship); const a = await step(mail); return [a, b];`,
  "run:",
  "",
  2,
);
same("renamed", `return step(charge);`, `return step(pay);`, "refuse");
same("removed", `await step(mail); return step(charge);`, `return step(charge) ;`, "refuse", "", 1);
same(
  "helper renamed",
  `return h1();`,
  `return h2();`,
  "refuse",
  `const h1 = async () => step(charge); const h2 = async () => step(pay);`,
);
same("into helper", `return step(charge, 1);`, `return h2();`, "refuse", `const h2 = async () => step(charge, 1);`);
same(
  "helper shared, second call before",
  `const a = await h(1); return a;`,
  `const z = await h(0); const a = await h(1); return a;`,
  "refuse",
  `const h = async (x: any) => step(charge, 7);`,
);
same(
  "duplicate",
  `const a = await step(poll); return a;`,
  `const z = await step(poll); const a = await step(poll); return a;`,
  "refuse",
);
same(
  "callback edit",
  `return Promise.all([1, 2].map(async (y) => step(charge, y)));`,
  `return Promise.all([1, 2].map(async (y) => { await step(mail, y); return step(charge, y); }));`,
  "run:mail:1 mail:2",
  "",
  2,
);
const nested = (inner: string, o = "outer"): string =>
  flow(`return step(${o}, 1);`, `const ${o} = async (x: any) => { ${inner} };`);
add(
  "nested half done: rename inner",
  nested(`await step(mail); return step(charge);`),
  nested(`await step(mail); return step(pay);`),
  "refuse",
  { kept: 2 },
);
add(
  "nested half done: same",
  nested(`await step(mail); return step(charge);`),
  nested(`await step(mail); return step(charge); /* c */`),
  "run:charge",
  { kept: 1 },
);
add(
  "nested half done: rename recorded inner",
  nested(`await step(mail); return step(charge);`),
  nested(`await step(ship); return step(charge);`),
  "refuse",
  { kept: 1 },
);
add(
  "nested half done: swap equal anchors",
  nested(`await step(poll, 1); return step(poll, 2);`),
  nested(`await step(poll, 2); return step(poll, 1);`),
  "refuse",
  { kept: 1 },
);
add(
  "nested done: rename inner",
  nested(`await step(mail); return step(charge);`),
  nested(`await step(ship); return step(charge);`),
  "run:",
  { kept: 3 },
);
add(
  "nested half done: outer renamed",
  nested(`await step(mail); return step(charge);`),
  nested(`await step(mail); return step(charge);`, "outer2"),
  "refuse",
  { kept: 1 },
);
add(
  "nested half done: inner moved out",
  nested(`await step(mail); return step(charge);`),
  flow(`await step(mail); return step(outer, 1);`, `const outer = async (x: any) => step(charge);`),
  "refuse",
  { kept: 1 },
);
add(
  "args of thunk",
  flow(`const q = await step(poll); return step(() => charge(q));`),
  flow(`const q = await step(poll); return step(() => charge(q, 2));`),
  "run:",
  { kept: 2 },
);
add(
  "thunk captures more",
  flow(`const q = await step(poll); const z = 1; return step(() => charge(q));`),
  flow(`const q = await step(poll); const z = 1; return step(() => charge(q, z));`),
  "run:",
  { kept: 2 },
);
add(
  "equal anchors swapped by thunk",
  flow(`const a = await step(() => charge("a")); const b = await step(() => charge("b")); return [a, b];`),
  flow(`const b = await step(() => charge("b")); const a = await step(() => charge("a")); return [a, b];`),
  "refuse",
  { kept: 2 },
);
add(
  "thunk to args form",
  flow(`const a = 1; return step(() => charge(a));`),
  flow(`const a = 1; return step(charge, a);`),
  "run:",
  { kept: 1 },
);
add(
  "call args swapped in helper calls",
  flow(`const a = await h("a"); const b = await h("b"); return [a, b];`, `const h = async (x: any) => step(charge);`),
  flow(`const b = await h("b"); const a = await h("a"); return [a, b];`, `const h = async (x: any) => step(charge);`),
  "refuse",
  { kept: 2 },
);
add(
  "helper in loop: args",
  flow(
    `const out: any[] = []; for (const y of ["a", "b"]) out.push(await h(y)); return out;`,
    `const h = async (x: any) => step(charge);`,
  ),
  flow(
    `const out: any[] = []; for (const y of ["b", "a"]) out.push(await h(y)); return out;`,
    `const h = async (x: any) => step(charge);`,
  ),
  "run:",
  { kept: 2 },
);
add(
  "helper in another module edited: equal anchors swapped",
  {
    "h.ts": `${bodies("poll")}export const helper = async () => [await step(poll, 1), await step(poll, 2)];`,
    "flow.ts": `import { helper } from "./h.js";\nexport const w = workflow("w", async (x: any) => helper());`,
  },
  {
    "h.ts":
      bodies("poll") +
      `export const helper = async () => { const b = await step(poll, 2); return [await step(poll, 1), b]; };`,
    "flow.ts": `import { helper } from "./h.js";\nexport const w = workflow("w", async (x: any) => helper());`,
  },
  "refuse",
  { kept: 2 },
);
add(
  "helper in another module: inserted",
  {
    "h.ts": `${bodies("poll", "mail")}export const helper = async () => step(poll, 1);`,
    "flow.ts": `import { helper } from "./h.js";\nexport const w = workflow("w", async (x: any) => helper());`,
  },
  {
    "h.ts": `${bodies("poll", "mail")}export const helper = async () => { await step(mail); return step(poll, 1); };`,
    "flow.ts": `import { helper } from "./h.js";\nexport const w = workflow("w", async (x: any) => helper());`,
  },
  "run:mail",
  { kept: 1 },
);
add(
  "helper in another module: renamed",
  {
    "h.ts": `${bodies("poll", "pay")}export const helper = async () => step(poll, 1);`,
    "flow.ts": `import { helper } from "./h.js";\nexport const w = workflow("w", async (x: any) => helper());`,
  },
  {
    "h.ts": `${bodies("poll", "pay")}export const helper = async () => step(pay, 1);`,
    "flow.ts": `import { helper } from "./h.js";\nexport const w = workflow("w", async (x: any) => helper());`,
  },
  "refuse",
  { kept: 1 },
);
add(
  "prettier",
  flow(`const out: any[] = []; for (const y of [1, 2]) out.push(await step(charge, { a: y, 'b': "x" })); return out;`),
  flow(
    `const out: any[] = [];\n\n// c\nfor (const y of [\n 1,\n 2,\n]) {\n out.push(\n  await step(charge, {\n "a": y,\n b: 'x',\n }),\n );\n}\nreturn out;`,
  ),
  "run:",
  { kept: 2 },
);
add(
  "types",
  flow(`const out: any[] = []; for (const y of [1, 2]) out.push(await step(charge, y)); return out;`),
  flow(
    `const out: string[] = []; for (const y of [1, 2] as const) out.push((await step(charge, y as unknown)) as string); return out satisfies string[];`,
  ),
  "run:",
  { kept: 2 },
);
add(
  "conditional around",
  flow(`const a = await step(charge); const b = await step(mail); return [a, b];`),
  flow(`const a = x ? null : await step(charge); let b; try { b = await step(mail); } finally { } return [a, b];`),
  "run:",
  { kept: 2 },
);
add(
  "recursion to loop",
  flow(
    `return walk(2);`,
    `const walk = async (n: number): Promise<any> => n === 0 ? [] : [await step(charge, n), ...(await walk(n - 1))];`,
  ),
  flow(`const out: any[] = []; for (let n = 2; n > 0; n--) out.push(await step(charge, n)); return out;`, ``),
  "refuse",
  { kept: 2 },
);
add(
  "extra recursion level",
  flow(
    `return walk(2);`,
    `const walk = async (n: number): Promise<any> => n === 0 ? [] : [await step(charge), ...(await walk(n - 1))];`,
  ),
  flow(
    `return walk(3);`,
    `const walk = async (n: number): Promise<any> => n === 0 ? [] : [await step(charge), ...(await walk(n - 1))];`,
  ),
  "run:charge",
  { kept: 2 },
);
add(
  "Promise.all order swapped",
  flow(`return Promise.all([h(1), h(2)]);`, `const h = async (x: any) => step(charge);`),
  flow(`return Promise.all([h(2), h(1)]);`, `const h = async (x: any) => step(charge);`),
  "refuse",
  { kept: 2 },
);
add(
  "two maps swapped",
  flow(
    `const a = await Promise.all([1].map(async (y) => step(poll))); const b = await Promise.all([2].map(async (y) => step(poll))); return [a, b];`,
  ),
  flow(
    `const b = await Promise.all([2].map(async (y) => step(poll))); const a = await Promise.all([1].map(async (y) => step(poll))); return [a, b];`,
  ),
  "refuse",
  { kept: 2 },
);
add(
  "two loops swapped",
  flow(
    `const o: any[] = []; for (const y of [1]) o.push(await step(poll, y)); for (const y of [2]) o.push(await step(poll, y)); return o;`,
  ),
  flow(
    `const o: any[] = []; for (const y of [2]) o.push(await step(poll, y)); for (const y of [1]) o.push(await step(poll, y)); return o;`,
  ),
  "refuse",
  { kept: 2 },
);
add(
  "mark: call wrapped in another call",
  flow(`return helper();`, `const helper = async () => step(charge, 1);`),
  flow(`return id(helper());`, `const helper = async () => step(charge, 1); const id = (x: any) => x;`),
  "run:",
  { kept: 1 },
);
add(
  "then callback added before",
  flow(`return step(charge).then(async (r: any) => [r, await step(mail)]);`),
  flow(`return step(charge).then((r: any) => r).then(async (r: any) => [r, await step(mail)]);`),
  "refuse",
  { kept: 2 },
);
add(
  "class renamed",
  flow(`return new A().run();`, `class A { async run() { return step(charge); } }`),
  flow(`return new Z().run();`, `class Z { async run() { return step(charge); } }`),
  "run:",
  { kept: 1 },
);
add(
  "workflow fn becomes named function",
  flow(`return step(charge);`),
  `${bodies("charge")}async function flow(x: any) { return step(charge); }\nexport const w = workflow("w", flow);`,
  "run:",
  { kept: 1 },
);
add(
  "getter access inserted before tag step",
  flow(
    `await step(mail); return tag\`x\`;`,
    `const o = { get g() { return [1].map((x) => x); } }; const tag = async (s: any) => step(charge);`,
  ),
  flow(
    `await step(mail); void o.g; return tag\`x\`;`,
    `const o = { get g() { return [1].map((x) => x); } }; const tag = async (s: any) => step(charge);`,
  ),
  "*",
  { kept: 2 },
);
add(
  "explicit key moved",
  flow(`return step({ key: "k" }, charge, 1);`),
  flow(`return h();`, `const h = async () => step({ key: "k" }, charge, 1);`),
  "run:",
  { kept: 1 },
);
add(
  "two keyed same key diff anchor",
  flow(`return step({ key: "k" }, charge, 1);`),
  flow(`return step({ key: "k" }, pay, 1);`),
  "refuse",
  { kept: 1 },
);
for (const [what, before, after, expected] of [
  ["put on", "step(charge, 1)", 'step({ key: "k" }, charge, 1)', "refuse"],
  ["put on an inline body", "step(() => charge(1))", 'step({ key: "k" }, () => charge(1))', "refuse"],
  ["taken off", 'step({ key: "k" }, charge, 1)', "step(charge, 1)", "refuse"],
  ["respelt", 'step({ key: "k" }, charge, 1)', 'step({ key: "k2" }, charge, 1)', "refuse"],
  [
    "of another value by the same text",
    "step({ key: name }, charge, 1)",
    "step({ key: name }, charge, 1)",
    "run:charge:1",
  ],
] as const) {
  const named = (name: string): string => `const name = "${name}";`;
  add(`explicit key ${what}`, flow(`return ${before};`, named("a")), flow(`return ${after};`, named("b")), expected, {
    kept: 1,
  });
}
add("name option added", flow(`return step(charge, 1);`), flow(`return step("charge", charge, 1);`), "run:", {
  kept: 1,
});
add(
  "waitFor renamed",
  flow(`const a = now(); return [await a, await step(charge)];`),
  flow(`const a = sleep(1); return [await a, await step(charge)];`),
  "refuse",
  { kept: 2 },
);
add(
  "unchanged",
  flow(`const a = await step(charge); return [a, await step(mail)];`),
  flow(`const a = await step(charge); return [a, await step(mail)];`),
  "run:mail",
  { kept: 1 },
);

// One call that calls now this function, now that one: of a list, or by a name.
const each = (list: string): string => `const r: any[] = []; for (const f of [${list}]) r.push(await f()); return r;`;
const thunk = (letter: string): string => `async () => "${letter}" + (await step(poll))`;
const helpers = `const one = ${thunk("A")}; const two = ${thunk("B")};`;
for (const [what, before, after, expected] of [
  ["reordered", `${thunk("A")}, ${thunk("B")}`, `${thunk("B")}, ${thunk("A")}`, "refuse"],
  ["first inserted", thunk("B"), `${thunk("A")}, ${thunk("B")}`, "refuse"],
  ["first removed", `${thunk("A")}, ${thunk("B")}`, thunk("B"), "refuse"],
  ["last added", thunk("A"), `${thunk("A")}, ${thunk("B")}`, "run:poll"],
  ["edited where it is", `${thunk("A")}, ${thunk("B")}`, `${thunk("C")}, ${thunk("B")}`, "run:poll"],
] as const) {
  add(`functions in a list: ${what}`, flow(each(before)), flow(each(after)), expected, { kept: 1 });
}
add("helpers in a list: reordered", flow(each("one, two"), helpers), flow(each("two, one"), helpers), "refuse", {
  kept: 1,
});
add(
  "helpers by name: another one",
  flow("const f = one; return f();", helpers),
  flow("const f = two; return f();", helpers),
  "refuse",
  { kept: 1 },
);
add(
  "a helper behind another name: renamed",
  flow("const f = one; return f();", helpers),
  flow("const f = uno; return f();", helpers.replace("one", "uno")),
  "run:",
  { kept: 1 },
);

// Twins: calls of one name and one text, told apart by what is made of their results.
const roll = "const roll = async () => step(poll, 6);";
for (const [what, one, pre] of [
  ["steps", "step(poll)", ""],
  ["steps with equal arguments", "step(poll, 6)", ""],
  ["calls of a helper", "roll()", roll],
] as const) {
  const pair = (a: string, b: string): string =>
    `const ${a} = await ${one}; const ${b} = await ${one}; return { a, b };`;
  add(`swapped twins: ${what}`, flow(pair("a", "b"), pre), flow(pair("b", "a"), pre), "refuse", { kept: 2 });
  add(`swapped twins, one recorded: ${what}`, flow(pair("a", "b"), pre), flow(pair("b", "a"), pre), "refuse", {
    kept: 1,
  });
  add(
    `renamed results of twins: ${what}`,
    flow(pair("a", "b"), pre),
    flow(pair("first", "second").replace("{ a, b }", "{ a: first, b: second }"), pre),
    "run:",
    { kept: 2 },
  );
  add(
    `twins as properties, swapped: ${what}`,
    flow(`return { a: await ${one}, b: await ${one} };`, pre),
    flow(`return { b: await ${one}, a: await ${one} };`, pre),
    "refuse",
    { kept: 2 },
  );
}

it.each(edits)("$name", async ({ v1, v2, kept, keep, expected }) => {
  ran = [];
  results = 0;
  const before = load(v1);
  const store = memoryStore();
  const first = new Stepmark({ store, workflows: [before] });
  await (await first.start(before, undefined, { id: "run" })).result();
  await first.shutdown();
  const fork = store.fork("run", kept);
  ran = [];
  const app = new Stepmark({ store: fork, workflows: [load(v2, keep)], grace: 20, stallAfter: 200 });
  const outcome = await (await app.resume("run")).result().then(
    () => `run:${ran.join(" ")}`,
    ({ code }: { code: string }) => {
      expect(["RETIRED_SITE", "AMBIGUOUS_SITE", "REPLAY_MISMATCH"]).toContain(code);
      expect(ran).toEqual([]);
      return "refuse";
    },
  );
  await app.shutdown();
  if (expected !== "*") expect(outcome).toBe(expected);
  else expect(ran).toEqual([]);
});
