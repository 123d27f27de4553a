import { simulate } from "./simulate.js";
import { print, } from "./print.js";
import fc from "fast-check";
import { programs, traitsOf, type Program } from "./program.js";
const work = { statement: "await", task: { task: "call", call: { call: "step", form: "plain" } } } as const;
const crash = { statement: "await", task: { task: "crash" } } as const;
const ps: Program[] = [
 { helpers: [], main: [{ statement: "await", task: { task: "call", call: { call: "nested", retries: true, body: [work, crash] } } }] },
 { helpers: [], main: [{ statement: "try", throws: "crash", rethrow: true, body: [work], handler: [work, work], end: [work] }, work] },
 { helpers: [], main: [{ statement: "join", how: "all", tasks: [{ task: "crash" }, { task: "branch", body: [work, work, work] }] }] },
];
for (const p of ps) console.log(print(p).split("\n").at(-1), await simulate(p, 1));
const count: Record<string, number> = {};
const add = (k: string) => { count[k] = (count[k] ?? 0) + 1; };
for (let s = 0; s < 2000; s++) {
  const [p] = fc.sample(programs, { seed: s, numRuns: 1 });
  const t = traitsOf(p!);
  add("traits " + Object.entries(t).filter(([, v]) => v).map(([k]) => k).join("+"));
  const text = JSON.stringify(p);
  for (const m of new Set(text.match(/"(statement|task|call|how|form|kind|use|via|by|throws)":"[^"]*"/g))) add(m);
  add("size " + Math.min(10, Math.floor(text.length / 300)));
}
console.log(count);
