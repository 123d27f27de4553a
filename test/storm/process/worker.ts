/** A process that drives what a queue hands out to it, by `app.work()`, until it is killed. Prints a line when it is ready. */
import { setTimeout as delay } from "node:timers/promises";
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
// It is none of the runs' doing that processes end.
const maxTakeovers = 1_000;
// Started while the database is down, it tries again, as whatever starts it would.
for (let up = false; !up; await delay(interval)) {
  await app.work({ concurrency, interval, onError, maxTakeovers }).then(() => {
    up = true;
  }, onError);
}
console.log("ready");
