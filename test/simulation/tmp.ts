import { memoryStore } from "stepmark";
import { compile } from "../support/build.js";
import { print } from "./print.js";
import { live, runId, sound } from "./process.js";
import type { Program } from "./program.js";
import { simulate } from "./simulate.js";

const program: Program = {
  helpers: [],
  main: [{ statement: "join", how: "all", tasks: [{ task: "crash" }, { task: "call", call: { call: "wait" } }] }],
};
for (let seed = 0; seed < 200; seed++) {
  const v = await simulate(program, seed);
  if (v.wrong.length) {
    console.log(seed, v.wrong);
    break;
  }
}
const code = new Function("exports", "require", compile(print(program), "flow.ts")) as never;
for (let seed = 0; seed < 300; seed++) {
  const memory = memoryStore();
  let crashed = new Set<string>();
  let time = 0;
  const log: unknown[] = [];
  for (let i = 0; i < 4; i++) {
    const o = await live({
      code,
      memory,
      seed: seed * 10 + i,
      time,
      outside: { draws: 0 },
      crashed,
      plan: {},
      conditions: sound,
    });
    log.push(
      o.status,
      o.error?.message,
      o.after.slice(o.before.length).map((e) => `${e.seq} ${e.key} ${e.state}`),
      await memory.inbox(runId),
      (await memory.read(runId))?.status,
      (await memory.read(runId))?.culprits,
      o.events.map((e) => e.type).join(" "),
    );
    crashed = o.crashed;
    time = o.time;
    if (o.status === "completed") break;
    if (o.status === "stuck") {
      console.log(seed, JSON.stringify(log, null, 1));
      process.exit(0);
    }
  }
}
