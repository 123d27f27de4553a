/** A process that starts the run, or goes on with it, and prints the events and the result as they come. */
import { Stepmark } from "stepmark";
import { flow } from "./flow.js";

const app = new Stepmark({ workflows: [flow] });
const run = await app.start(flow, undefined, { id: "run" });
console.log(JSON.stringify({ type: "ready" }));
for await (const { type, seq, key, value } of run.events()) console.log(JSON.stringify({ type, seq, key, value }));
const result = await run.result().catch((error: Error) => ({ error: error.stack }));
console.log(JSON.stringify({ type: "result", value: result }));
await app.shutdown();
