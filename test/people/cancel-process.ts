/**
 * A process that has to do with the run "run" in the folder that it is started in:
 *
 *     drive      drives it, and says "begun" in a body that ends only when it is told to, by its signal; then how the run ended
 *     cancel     cancels it, and says how it stands after that
 */
import process from "node:process";
import { Stepmark } from "stepmark";
import { begun, held } from "./cancel-flow.js";

// Its owner tells of itself, and looks what has come, three times as often.
const app = new Stepmark({ workflows: [held], lease: "300ms" });
if (process.argv[2] === "drive") {
  begun.push(() => console.log("begun"));
  const run = await app.start(held, undefined, { id: "run" });
  console.log(await run.result().catch(({ code }) => code as string));
} else {
  await app.cancel("run");
  console.log((await app.get("run")).status);
}
await app.shutdown();
process.exit();
