/** A worker of the storm: `worker.js SCHEMA CONCURRENCY`, until it is killed or told to stop by a line. */
import { once } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";
import { Stepmark } from "stepmark";
import { graphileQueue } from "stepmark/graphile";
import { postgresStore } from "stepmark/postgres";
import { chain } from "./flow.js";

const [schema = "", concurrency = ""] = process.argv.slice(2);
const url = process.env.DATABASE_URL!;
const app = new Stepmark({
  store: postgresStore(url, { schema, connections: 5 }),
  queue: graphileQueue(url, { schema, connections: 8 }),
  workflows: [chain],
});
const told = once(createInterface({ input: process.stdin }), "line");
await app.work({ concurrency: Number(concurrency), onError: (error) => console.error(error) });
await told;
await app.shutdown();
process.exit();
