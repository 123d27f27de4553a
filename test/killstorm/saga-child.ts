/** A process that starts the saga, or goes on with it, and prints how it ends. */
import { Stepmark } from "stepmark";
import { saga } from "./saga-flow.js";

const app = new Stepmark({ workflows: [saga] });
const run = await app.start(saga, undefined, { id: "run" });
console.log("ready");
console.log(await run.result());
await app.shutdown();
