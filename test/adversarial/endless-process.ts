/** Runs the workflow of a name, and has nothing else to do; says how its result was, if it came to one. */
import process from "node:process";
import { memoryStore, Stepmark } from "stepmark";
import { flows } from "./endless-flow.js";

const name = process.argv[2] as keyof typeof flows;
const app = new Stepmark({ store: memoryStore(), workflows: Object.values(flows) });
const run = await app.start(flows[name], undefined, { id: "run" });
run.result().then(
  (value) => console.log(JSON.stringify(value)),
  async ({ message }) => console.log(JSON.stringify({ message, status: (await app.get("run"))?.status })),
);
