/**
 * One run over three days and five processes, of which three are killed: a customer tries a service, chooses a plan on the
 * second day, and pays on the third. Time is simulated: each process begins at an hour of its own. `npm run samples --
 * timeline` draws what happened.
 */
import { setImmediate } from "node:timers/promises";
import { child, publish, type Run, type RunEvent, Stepmark, sleep, step, waitFor, workflow } from "stepmark";
import { dayAndHour, drawn, readDiary, write } from "./runner/diary.js";
import { inProcesses } from "./runner/processes.js";
import type { Outcome, Scenario } from "./runner/scenario.js";
import { TravelClock } from "./runner/travel-clock.js";
import { note } from "./runner/work.js";

const trial = workflow("trial", async (customer: string) => {
  await step(openAccount, customer);
  await publish("stage", "trial");
  await sleep("3h");
  await step(sendTips, customer);
  const plan = await waitFor<string>("plan", { timeout: "2d" });
  if (plan.timedOut) return "nothing bought";
  await publish("stage", `buys ${plan.value}`);
  // A run of its own, with a journal of its own.
  const receipt = await child(billing, { customer, plan: plan.value });
  await step(thank, customer);
  return receipt;
});

const billing = workflow("billing", async ({ customer, plan }: { customer: string; plan: string }) => {
  const invoice = await step(writeInvoice, customer, plan);
  await sleep("20h");
  return step(charge, invoice);
});

async function openAccount(customer: string): Promise<void> {
  note(`open account of ${customer}`);
}

async function sendTips(customer: string): Promise<void> {
  note(`send tips to ${customer}`);
}

async function writeInvoice(customer: string, plan: string): Promise<string> {
  note(`write invoice for ${customer}`);
  if (life.ends === "killed at work") await die("writeInvoice");
  return `${customer}: ${plan}`;
}

async function charge(invoice: string): Promise<string> {
  note(`charge ${invoice}`);
  return `paid by ${invoice}`;
}

async function thank(customer: string): Promise<void> {
  note(`thank ${customer}`);
}

// --- the processes ---------------------------------------------------------------------------------------------------

const hour = 3_600_000;
const midnight = Date.UTC(2026, 0, 1);
const at = (day: number, hours: number): number => midnight + ((day - 1) * 24 + hours) * hour;

interface Life {
  from: number;
  until: number;
  ends: "killed" | "killed at work" | "shut down" | "done";
  /** When the customer chooses a plan. */
  choice?: number;
}

const lives: readonly Life[] = [
  { from: at(1, 9), until: at(1, 10), ends: "killed" },
  { from: at(1, 11), until: at(1, 18), ends: "shut down" },
  { from: at(2, 8), until: at(2, 8.5), ends: "killed at work", choice: at(2, 8.5) },
  { from: at(2, 12), until: at(2, 20), ends: "killed" },
  { from: at(3, 9), until: at(3, 10), ends: "done" },
];

/** Each process goes on where the diary ends. */
const number = (readDiary().at(-1)?.process ?? 0) + 1;
const life = lives[number - 1] ?? lives[0]!;
const clock = new TravelClock(life.from);

async function oneProcess(): Promise<unknown> {
  const app = new Stepmark({ workflows: [trial, billing], clock });
  tell(number === 1 ? "process started" : "process started: the run is resumed");
  const recorded = number === 1 ? 0 : (await app.entries("run")).length;
  const run = number === 1 ? await app.start(trial, "Ann", { id: "run" }) : await app.resume<string>("run");
  void follow(app, run, "", recorded);
  for (const { id, status } of (await app.get("run")).children) {
    if (status === "open") void follow(app, await app.resume(id), "  billing: ", (await app.entries(id)).length);
  }
  if (life.choice !== undefined) {
    await travel(life.choice);
    await app.answer("run", "plan", "basic");
  }
  await travel(life.until);
  if (life.ends === "killed") await die();
  if (life.ends === "killed at work") await new Promise(() => {});
  if (life.ends === "shut down") tell("shut down");
  const output = life.ends === "done" ? await run.result() : undefined;
  await app.shutdown();
  return output;
}

/** Lets happen what happens until then. */
async function travel(until: number): Promise<void> {
  do await rest();
  while (clock.jump(until));
}

async function rest(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await setImmediate();
}

async function die(step?: string): Promise<void> {
  await rest();
  tell(step === undefined ? "killed" : `killed in the middle of ${step}`);
  process.kill(process.pid, "SIGKILL");
}

function tell(what: string): void {
  write({ time: clock.now(), process: number, what });
}

async function follow(app: Stepmark, run: Run, prefix: string, after: number): Promise<void> {
  for await (const event of run.events({ after })) {
    const what = inWords(event);
    if (what !== undefined) tell(prefix + what);
    if (event.type !== "child.started") continue;
    await rest();
    void follow(app, await app.resume(event.child), "  billing: ", 0);
  }
}

function inWords(event: RunEvent): string | undefined {
  switch (event.type) {
    case "step.completed":
      return `step ${event.key.split("/").at(-1)}`;
    case "wait.opened":
      return `asks for the ${event.name}`;
    case "wait.answered":
      return `answered: ${(event.value as { value: string }).value}`;
    case "timer.set":
      return `sleeps until ${dayAndHour(event.due, midnight)}`;
    case "timer.fired":
      return event.due < event.time ? `wakes, ${(event.time - event.due) / hour} h late` : "wakes";
    case "published":
      return `publishes the ${event.name}: ${event.value}`;
    case "child.started":
      return "begins the child run";
    case "child.completed":
      return "the child run has ended";
    case "run.completed":
      return "completed";
    default:
      return undefined;
  }
}

async function fiveProcesses(id: string): Promise<Outcome> {
  return inProcesses(id, async (processes) => {
    let output: unknown;
    for (const { ends } of lives) output = await processes.script({ killed: ends.startsWith("killed") });
    return processes.outcome({ output, timeline: drawn(readDiary(processes.directory), midnight) });
  });
}

// ------------------------------------------------------------------------------------------------------------------

const picture = `
           day 1                   day 2                   day 3
           0     6     12    18    0     6     12    18    0     6     12    18
process 1           |x
process 2             |------|
process 3                                  x
process 4                                      |-------x
process 5                                                           |

day 1  09:00  process 1  process started
                         step openAccount
                         publishes the stage: trial
                         sleeps until day 1, 12:00
       10:00             killed
       11:00  process 2  process started: the run is resumed
       12:00             wakes
                         step sendTips
                         asks for the plan
       18:00             shut down
day 2  08:00  process 3  process started: the run is resumed
       08:30             answered: basic
                         publishes the stage: buys basic
                         begins the child run
                         killed in the middle of writeInvoice
       12:00  process 4  process started: the run is resumed
                           billing: step writeInvoice
                           billing: sleeps until day 3, 08:00
       20:00             killed
day 3  09:00  process 5  process started: the run is resumed
                           billing: wakes, 1 h late
                           billing: step charge
                           billing: completed
                         the child run has ended
                         step thank
                         completed
`;

export const scenarios: readonly Scenario[] = [
  {
    id: "timeline",
    what: "a run of three days in five processes: a long sleep, an answer on day two, a child run; three are killed",
    script: oneProcess,
    play: fiveProcesses,
    show: ({ result }) => (result as { timeline: string[] }).timeline.join("\n"),
    expected: {
      result: { output: "paid by Ann: basic", timeline: picture.slice(1, -1).split("\n") },
      bodies: [
        ["open account of Ann"],
        ["send tips to Ann"],
        ["write invoice for Ann"],
        ["write invoice for Ann"],
        ["charge Ann: basic", "thank Ann"],
      ],
    },
  },
];
