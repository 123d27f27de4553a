/** `npm run bench:plots`: draws the pictures of the docs anew, from the data that lies beside them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { contenders } from "../contenders/index.js";
import { folder } from "../harness/docs.js";
import { writePlots } from "./plots.js";
import type { Results } from "./table.js";

const results = JSON.parse(readFileSync(join(folder, "speed.json"), "utf8")) as Results;
writePlots(
  results,
  contenders.filter(({ name }) => name in results.machine.versions),
);
