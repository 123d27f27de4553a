import { print } from "./print.js";
import { live, runId, sound } from "./process.js";
import { memoryStore } from "stepmark";
import { compile } from "../support/build.js";
import type { Program } from "./program.js";
const work = { task: "call", call: { call: "step", form: "plain" } } as const;
const program: Program = { helpers: [], main: [{ statement: "join", how: "race", tasks: [
 { task: "call", call: { call: "nested", retries: false, body: [{ statement: "await", task: work }] } }, work,
 { task: "branch", body: [{ statement: "foreign", use: "sequence", times: 1 }] } ] }] };
const code = new Function("exports", "require", compile(print(program), "flow.ts")) as never;
for (let seed = 0; seed < 3000; seed++) {
  const memory = memoryStore();
  const o = await live({ code, memory, seed, time: 0, outside: { draws: 0 }, crashed: new Set(), plan: { leaveAt: 1 + seed % 4 }, conditions: sound });
  const fork = memory.fork(runId, o.after.length);
  const l = await live({ code, memory: fork, seed: seed + 7, time: 0, outside: { draws: 100 }, crashed: new Set(), plan: {}, conditions: sound });
  if (l.status === "stuck") { console.log(seed, o.status, o.error?.message, o.after.map((e) => `${e.seq} ${e.key} ${e.state}`)); console.log(l.error, l.appends, l.after.map((e) => `${e.seq} ${e.key} ${e.state}`), await fork.read(runId), l.events.map(e=>e.type).join(" "), l.given, l.bodies); break; }
}
