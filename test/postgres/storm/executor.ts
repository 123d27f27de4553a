/**
 * Whatever executes runs, as a process of its own, until it is killed: here `app.run()`. It is given the database and the schema, the
 * name of its machine, and the ledger's place in the environment, and prints a line when it is ready.
 */
import process from "node:process";
import { Stepmark } from "stepmark";
import { postgresStore } from "stepmark/postgres";
import { flow } from "./flow.js";
import { note } from "./ledger.js";
import { onMachine } from "./machine.js";

const { STORM_URL, STORM_SCHEMA, STORM_MACHINE } = process.env as Record<string, string>;
// Longer than a network is cut for: what was on the way arrives when others have the run.
const store = postgresStore(STORM_URL!, { schema: STORM_SCHEMA!, timeout: 5_000 });
const app = new Stepmark({ store: onMachine(store, STORM_MACHINE!), workflows: [flow], lease: "2s" });
console.log("ready");
await app.run({
  interval: 100,
  onError: (error) => {
    const { code = "", message } = error as Error & { code?: string };
    note({ type: "error", code, text: message });
  },
});
