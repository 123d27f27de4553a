/** A process that goes on with whatever nobody drives, by `app.run()`, until it is killed. Prints a line when it is ready. */
import { Stepmark } from "stepmark";
import { postgresStore } from "stepmark/postgres";
import { flow } from "../flow.js";
import { storeOnMachine } from "../machine.js";
import { interval, lease, machine, onError, schema, timeout, url } from "./given.js";

const store = storeOnMachine(postgresStore(url, { schema, timeout }), machine);
const app = new Stepmark({ store, workflows: [flow], lease });
console.log("ready");
await app.run({ interval, onError });
