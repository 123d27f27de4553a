/**
 * `npm run simulate -- --runs N --seed S`: N random programs, each with all that can happen to its run. `--cuts K`
 * resumes each from K prefixes of its journal at most, for more programs in the same time; `--with "child(" --with crash` takes
 * only programs with these texts in them.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { explore, summary } from "./explore.js";
import { faults } from "./faults.js";
import { mostCuts } from "./simulate.js";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "1000" },
    seed: { type: "string", default: String(Date.now() % 1e9) },
    fault: { type: "string" },
    most: { type: "string", default: "5" },
    cuts: { type: "string", default: String(mostCuts) },
    with: { type: "string", multiple: true },
  },
});
const seed = Number(values.seed);
const fault = faults.find(({ name }) => name === values.fault);
if (values.fault !== undefined && fault === undefined) {
  console.error(`There is no fault ${values.fault}. There are: ${faults.map(({ name }) => name).join("; ")}`);
  process.exit(2);
}
fault?.put?.();
const outcome = await explore({
  runs: Number(values.runs),
  seed,
  mostWrong: Number(values.most),
  cuts: Number(values.cuts),
  holding: values.with,
  conditions: fault?.conditions?.(),
  report: (text) => console.log(text),
});
console.log(summary(outcome, seed));
process.exit(outcome.wrong.length > 0 ? 1 : 0);
