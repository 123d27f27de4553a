/**
 * One process of a scenario: `node child.js <scenario> start|resume|script|serve <JSON of how it is killed>`, in a directory of
 * its own. Prints the result, a server its port; events go to a file as they arrive.
 */
import { appendFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { type Run, type RunEvent, Stepmark } from "stepmark";
import type { Kill } from "./processes.js";
import type { Scenario } from "./scenario.js";
import { scenarios } from "./scenarios.js";
import { endInOrder, oneMoreRecorded } from "./work.js";

const [id, mode, killText] = process.argv.slice(2);
const scenario = scenarios.find((each) => each.id === id);
if (scenario === undefined) throw new Error(`There is no scenario ${id}`);
const kill = JSON.parse(killText!) as Kill | null;

try {
  if (mode === "serve") {
    const app = new Stepmark({ workflows: [scenario.workflow!], ...scenario.options?.() });
    console.log(JSON.stringify({ port: await scenario.serve!(app) }));
    // Until it is killed.
    await new Promise(() => {});
  }
  const result = mode === "script" ? await scenario.script!() : await runWorkflow(scenario);
  console.log(JSON.stringify({ result }));
} catch (thrown) {
  const { name, message } = thrown instanceof Error ? thrown : new Error(String(thrown));
  console.log(JSON.stringify({ error: { name, message } }));
}

async function runWorkflow({ workflow, input, options }: Scenario): Promise<unknown> {
  const app = new Stepmark({ workflows: [workflow!], ...options?.() });
  // Not before the process is idle: a body that outlives its run could still try to write.
  process.once("beforeExit", () => void app.shutdown());
  if (kill?.ends) endInOrder(kill.ends);
  const run = mode === "start" ? await app.start(workflow!, input, { id: "run" }) : await app.resume("run");
  const [result] = await Promise.all([run.result(), listen(run)]);
  return result;
}

async function listen(run: Run): Promise<void> {
  let recorded = 0;
  for await (const event of run.events()) {
    appendFileSync("events.log", `${event.type}\n`);
    if (isOutcome(event) || event.type === kill?.ends?.[recorded]) {
      recorded++;
      oneMoreRecorded();
    }
    if (kill && (event.type === kill.at || recorded === kill.ends?.length)) await die(kill);
  }
}

function isOutcome({ type }: RunEvent): boolean {
  return type === "step.completed" || type === "step.failed";
}

async function die({ atOnce }: Kill): Promise<void> {
  // Bodies that can start shall have started, so that the crash finds them in their middle.
  if (!atOnce) for (let turn = 0; turn < 50; turn++) await setImmediate();
  process.kill(process.pid, "SIGKILL");
}
