/** `npm run killstorm -- --kills N`: so many processes are killed at random moments. Exits with 1 if anything is wrong. */
import process from "node:process";
import { parseArgs } from "node:util";
import { buildChild } from "../support/build-child.js";
import { storm, summary } from "./storm.js";

const { values } = parseArgs({ options: { kills: { type: "string", default: "100" } } });
const damage = await storm({
  kills: Number(values.kills),
  child: await buildChild(),
  report: (text) => console.log(text),
});
for (const [what, list] of Object.entries({ again: damage.ranAgain, wrong: damage.wrong, unopened: damage.unopened }))
  for (const each of list.slice(0, 10)) console.log(`${what}: ${each}`);
console.log(summary(damage));
process.exit(damage.ranAgain.length + damage.wrong.length + damage.unopened.length > 0 ? 1 : 0);
