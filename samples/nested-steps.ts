/**
 * Steps whose bodies call steps. A newspaper prints pages: to print a page is a step, and within it to typeset the
 * page's text is another.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { memoryStore, Stepmark, step, waitFor, workflow } from "stepmark";
import { inOneProcess, killedAfter } from "./runner/plays.js";
import { inProcesses } from "./runner/processes.js";
import type { Outcome, Scenario } from "./runner/scenario.js";
import { note, notes, work } from "./runner/work.js";

// --- A1, A3: class instances as arguments ------------------------------------------------------------------------

class Page {
  constructor(readonly text: string) {}
}

async function typesetPage(page: Page): Promise<string> {
  await work(`typeset ${page.text}`);
  return page.text.toUpperCase();
}

async function printPage(page: Page): Promise<string> {
  note(`print ${page.text}`);
  return step(typesetPage, page);
}

const printEdition = workflow("print-edition", async () => [
  await step(printPage, new Page("a")),
  await step(printPage, new Page("b")),
]);

// --- A4, A6: strings as arguments --------------------------------------------------------------------------------

async function typeset(text: string): Promise<string> {
  await work(`typeset ${text}`);
  return text.toUpperCase();
}

async function print(text: string): Promise<string> {
  note(`print ${text}`);
  return step(typeset, text);
}

const printTexts = workflow("print-texts", async () => [await step(print, "a"), await step(print, "b")]);

/** The proof is typeset once more, by a direct call of the step that `print` calls too. */
const printWithProof = workflow("print-with-proof", async () => [await step(print, "a"), await step(typeset, "a")]);

// --- A2, A3: the editor is asked between the two pages -----------------------------------------------------------

const printAfterApproval = workflow("print-after-approval", async () => {
  const first = await step(print, "a");
  const approved = await waitFor<string>("approve", { payload: { first } });
  const second = await step(print, "b");
  return [first, second, approved];
});

/** Two apps, one after the other, on one store in memory; the answer comes in the second. */
async function pauseAndAnswer(): Promise<Outcome> {
  const store = memoryStore();
  const first = new Stepmark({ store, workflows: [printAfterApproval] });
  await (await first.start(printAfterApproval, undefined, { id: "edition-1" })).settled();
  await first.shutdown();
  const before = notes();

  const second = new Stepmark({ store, workflows: [printAfterApproval] });
  const run = await second.resume("edition-1");
  await second.answer("edition-1", "approve", "yes");
  return { result: await run.result(), bodies: [before, notes().slice(before.length)] };
}

/** The answer is given when the event says that the run waits: if events came only at the end, it would never end. */
async function answerOnEvent(): Promise<Outcome> {
  const app = new Stepmark({ store: memoryStore(), workflows: [printAfterApproval] });
  const run = await app.start(printAfterApproval, undefined, { id: "edition-1" });
  const events: string[] = [];
  for await (const { type } of run.events()) {
    events.push(type);
    if (type === "run.waiting") await app.answer("edition-1", "approve", "yes");
  }
  return { result: { output: await run.result(), events }, bodies: [notes()] };
}

/** The events of the first process are those that had arrived when it was killed. */
async function crashWhileListening(id: string): Promise<Outcome> {
  return inProcesses(id, async (processes) => {
    await processes.start({ ends: ["typeset a", "print a"] });
    const output = await processes.resume();
    return processes.outcome({ output, events: processes.events[0] });
  });
}

// --- A8: equal arguments, and a body that gives another value each time -------------------------------------------

/** Counts on in a file, as an accounting system would. */
async function nextInvoiceNumber(): Promise<number> {
  await work("number");
  appendFileSync("invoices.log", "one more\n");
  return readFileSync("invoices.log", "utf8").trim().split("\n").length;
}

async function writeInvoice(customer: string): Promise<number> {
  note(`invoice ${customer}`);
  return step(nextInvoiceNumber);
}

const invoiceTwice = workflow("invoice-twice", async (customer: string) => [
  await step(writeInvoice, customer),
  await step(writeInvoice, customer),
]);

const invoiceTwiceAtOnce = workflow("invoice-twice-at-once", async (customer: string) =>
  Promise.all([step(writeInvoice, customer), step(writeInvoice, customer)]),
);

// ------------------------------------------------------------------------------------------------------------------

const crashInSecondPage = ["print a", "typeset a", "print b", "typeset b"];

export const scenarios: readonly Scenario[] = [
  {
    id: "A1",
    what: "class-instance arguments, killed inside the second page's inner step",
    workflow: printEdition,
    play: killedAfter("typeset a", "print a"),
    expected: { result: ["A", "B"], bodies: [crashInSecondPage, ["print b", "typeset b"]] },
  },
  {
    id: "A2",
    what: "a person's answer between the two pages, store in memory",
    script: pauseAndAnswer,
    play: inOneProcess,
    expected: {
      result: ["A", "B", "yes"],
      bodies: [
        ["print a", "typeset a"],
        ["print b", "typeset b"],
      ],
    },
  },
  {
    id: "A3 crash",
    what: "A1 while events are consumed: they arrive before the crash",
    workflow: printEdition,
    play: crashWhileListening,
    expected: {
      result: { output: ["A", "B"], events: ["run.started", "step.completed", "step.completed"] },
      bodies: [crashInSecondPage, ["print b", "typeset b"]],
    },
  },
  {
    id: "A3 wait",
    what: "A2 while events are consumed: one of them brings about the answer",
    script: answerOnEvent,
    play: inOneProcess,
    expected: {
      result: {
        output: ["A", "B", "yes"],
        events: [
          "run.started",
          "step.completed",
          "step.completed",
          "wait.opened",
          "run.waiting",
          "wait.answered",
          "step.completed",
          "step.completed",
          "run.completed",
        ],
      },
      bodies: [crashInSecondPage],
    },
  },
  {
    id: "A4",
    what: "string arguments, killed inside the second page's inner step",
    workflow: printTexts,
    play: killedAfter("typeset a", "print a"),
    expected: { result: ["A", "B"], bodies: [crashInSecondPage, ["print b", "typeset b"]] },
  },
  {
    id: "A6",
    what: "parent is restored, then the inner step is called directly: it runs, on its own entry",
    workflow: printWithProof,
    play: killedAfter("typeset a", "print a"),
    expected: { result: ["A", "A"], bodies: [["print a", "typeset a", "typeset a"], ["typeset a"]] },
  },
  {
    id: "A8 sequential",
    what: "equal arguments from two parents, inner body counts, killed inside the second",
    workflow: invoiceTwice,
    input: "acme",
    play: killedAfter("number", "invoice acme"),
    expected: {
      result: [1, 2],
      bodies: [
        ["invoice acme", "number", "invoice acme", "number"],
        ["invoice acme", "number"],
      ],
    },
  },
  {
    id: "A8 concurrent",
    what: "the same at once, killed when only the first is recorded",
    workflow: invoiceTwiceAtOnce,
    input: "acme",
    play: killedAfter("number", "invoice acme"),
    expected: {
      result: [1, 2],
      bodies: [
        ["invoice acme", "invoice acme", "number", "number"],
        ["invoice acme", "number"],
      ],
    },
  },
];
