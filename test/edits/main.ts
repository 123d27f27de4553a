import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { seeded } from "../support/schedule.js";
import { before, tryEdit } from "./case.js";
import { corpus, hash, sample } from "./corpus.js";
import { readFlows, syntaxErrors } from "./project.js";

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    flow: { type: "string" },
    seed: { type: "string", default: "1" },
    places: { type: "string", default: "2" },
    pairs: { type: "string", default: "0" },
    dry: { type: "boolean" },
    where: { type: "string" },
    show: { type: "boolean" },
    cuts: { type: "string", default: "3" },
  },
});
const flows = readFlows().filter((f) => !values.flow || f.name === values.flow);
const befores = new Map<unknown, Promise<Awaited<ReturnType<typeof before>>>>();
const rows = new Map<string, any>();
let n = 0;
const lines: string[] = [];
const say = (s: string) => {
  lines.push(s);
  console.log(s);
};
for await (const c of corpus(flows, {
  seed: +values.seed,
  places: +values.places,
  pairs: +values.pairs,
  only: values.only,
})) {
  if (values.where !== undefined && c.where !== values.where) continue;
  n++;
  const bad = [...syntaxErrors(c.before), ...syntaxErrors(c.after)];
  if (values.show) for (const [k, t] of c.after.files) console.log("-----", k, "\n" + t);
  if (bad.length) {
    say(`SYNTAX ${c.flow} | ${c.edit} | ${c.where}: ${bad[0]}`);
    continue;
  }
  if (values.dry) continue;
  try {
    let then = befores.get(c.before);
    if (!then) {
      then = before(c.before);
      if (flows.includes(c.before as any)) befores.set(c.before, then);
    }
    const b = await then;
    if (b.plain.run.error !== undefined) {
      say(`BROKEN before ${c.flow} | ${c.edit} | ${c.where}: ${b.plain.run.error}`);
      continue;
    }
    const next = seeded(hash(c.flow + c.edit + c.where));
    const cuts = (n: number) =>
      values.cuts === "all"
        ? Array.from({ length: n }, (_, i) => i + 1)
        : [
            n,
            ...sample(
              Array.from({ length: n - 1 }, (_, i) => i + 1),
              +values.cuts - 1,
              next,
            ),
          ];
    const out = await tryEdit(b, c.after, cuts);
    const row = rows.get(c.edit) ?? {};
    rows.set(c.edit, row);
    for (const r of out.resumptions) {
      for (const [ask, { fate, same }] of r.calls) {
        const k = `${r.mode}.${same ? "same" : "gone"}.${fate}`;
        row[k] = (row[k] ?? 0) + 1;
        const badFate =
          fate === "taken" ||
          fate === "redone" ||
          fate === "unasked" ||
          (same && r.mode === "accepted" && fate !== "kept") ||
          fate === "unreported";
        if (badFate)
          say(
            `${fate.toUpperCase()} ${r.mode} ${c.flow} | ${c.edit} | ${c.where} after ${r.kept}: ${ask.key}${same ? "" : " (gone)"} ${r.error ?? ""}`,
          );
      }
      if (!r.expected) say(`ERROR ${r.mode} ${c.flow} | ${c.edit} | ${c.where} after ${r.kept}: ${r.error}`);
    }
  } catch (e: any) {
    say(`THROWN ${c.flow} | ${c.edit} | ${c.where}: ${e?.stack?.split("\n").slice(0, 4).join(" ")}`);
  }
}
console.log(n, "cases");
const total: any = {};
for (const row of rows.values()) for (const [k, v] of Object.entries(row)) total[k] = (total[k] ?? 0) + (v as number);
console.log(total);
