/**
 * A process that has to do with runs of `approval` in the folder that it is started in:
 *
 *     drive ID [EVENT]        starts the run or goes on with it, and kills itself at that event, or in the body of that text
 *     answer ID VALUE         answers the run's question
 *     race COUNT VALUE        says that it is ready; told to go, answers the runs 0, 1, ... as fast as it can, and says how each went
 *     work                    goes on with whatever is answered, until it is told to stop
 */
import { once } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";
import { Stepmark } from "stepmark";
import { approval, begun } from "./approval-flow.js";

const [task, first = "", second] = process.argv.slice(2);
const app = new Stepmark({ workflows: [approval] });
const told = once(createInterface({ input: process.stdin }), "line");

const die = (): void => void process.kill(process.pid, "SIGKILL");

async function drive(): Promise<void> {
  begun.push((text) => {
    if (text === second) die();
  });
  const recorded = (await app.entries(first).catch(() => [])).length;
  const run = await app.start(approval, first, { id: first });
  const result = run.result();
  for await (const { type, seq = Number.POSITIVE_INFINITY } of run.events())
    if (type === second && seq > recorded) die();
  console.log(JSON.stringify(await result));
}

async function answer(id: string, value: string): Promise<string> {
  const given = app.answer(id, "ok", value);
  return given.then(
    () => "taken",
    (error: { code: string }) => error.code,
  );
}

async function race(count: number, value: string): Promise<void> {
  console.log("ready");
  await told;
  const outcomes: string[] = [];
  for (let id = 0; id < count; id++) outcomes.push(await answer(String(id), value));
  console.log(JSON.stringify(outcomes));
}

async function work(): Promise<void> {
  const stop = new AbortController();
  const running = app.run({ interval: 5, signal: stop.signal });
  console.log("ready");
  await told;
  stop.abort();
  await running;
}

if (task === "drive") await drive();
else if (task === "answer") console.log(await answer(first, second!));
else if (task === "race") await race(Number(first), second!);
else await work();
await app.shutdown();
process.exit();
