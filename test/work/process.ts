/** `process.js SCHEMA OPTIONS`: a worker on a schema of the database at `DATABASE_URL`, until it is told to stop by a line. */
import { once } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";
import { Pool } from "pg";
import { Stepmark, type WorkOptions } from "stepmark";
import { graphileQueue } from "stepmark/graphile";
import { postgresStore } from "stepmark/postgres";
import { fulfil, live, type Order, workflows } from "./flow.js";
import { World } from "./world.js";

const [schema = "", options = "{}"] = process.argv.slice(2);
const { limits, ...given } = JSON.parse(options) as WorkOptions;
const pool = new Pool({ connectionString: process.env.DATABASE_URL!, max: 15 });
live(new World(pool, schema));
const app = new Stepmark({
  store: postgresStore(pool, { schema }),
  queue: graphileQueue(pool, { schema }),
  workflows,
});
const told = once(createInterface({ input: process.stdin }), "line");
const limit = limits?.[fulfil.workflowName];
// A function does not come through the command line.
if (limit?.perKey) limit.perKey.key = ({ customer }: Order) => customer;
await app.work({ interval: 100, ...given, limits });
console.log("ready");
await told;
await app.shutdown();
process.exit();
