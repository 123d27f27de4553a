/** A process that drives what a queue hands out to it, by `app.work()`, until it is killed. Prints a line when it is ready. */
import { Stepmark } from "stepmark";
import { graphileQueue } from "stepmark/graphile";
import { postgresStore } from "stepmark/postgres";
import { flow } from "../flow.js";
import { queueOnMachine, storeOnMachine } from "../machine.js";
import { concurrency, interval, lease, machine, onError, schema, timeout, url } from "./given.js";

const app = new Stepmark({
  store: storeOnMachine(postgresStore(url, { schema, timeout, connections: 5 }), machine),
  queue: queueOnMachine(graphileQueue(url, { schema, timeout, connections: 8 }), machine),
  workflows: [flow],
  lease,
});
await app.work({ concurrency, interval, onError });
console.log("ready");
