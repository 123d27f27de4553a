/**
 * People in the loop: two reviewers of a contract, an invoice that is drawn up meanwhile, three jurors, a guest whose
 * passport number is asked for until it is valid, an expense claim, a room that is held. Each question is answered while
 * no process has the run, and each answer is taken by a new process.
 */
import { setTimeout as delay } from "node:timers/promises";
import { step, waitFor, workflow } from "stepmark";
import { z } from "zod";
import { inProcesses, type Processes } from "./runner/processes.js";
import type { Outcome, Scenario } from "./runner/scenario.js";
import { note, work } from "./runner/work.js";

// --- D1: two branches ask through one helper, and come to it in another order when the run is resumed ----------------

/** Both questions have the same name and stand at the same place in the code. */
async function askForReview(team: string): Promise<string> {
  note(`ask ${team}`);
  return waitFor<string>("review", { payload: { team } });
}

/** No step, so that it takes its time on every pass. */
async function budgetIsLoaded(): Promise<void> {
  await delay(20);
}

async function readContract(): Promise<string> {
  await work("read contract");
  return "contract";
}

const reviewContract = workflow("review-contract", async () => {
  const [legal, finance] = await Promise.all([
    (async () => {
      // Takes its time at first. In the last process it is a hit, and the legal team is asked first.
      await step(readContract);
      return askForReview("legal");
    })(),
    (async () => {
      await budgetIsLoaded();
      return askForReview("finance");
    })(),
  ]);
  return { legal, finance };
});

async function answeredByPayload(id: string): Promise<Outcome> {
  return inProcesses(id, async (processes) => {
    await processes.start({ ends: ["wait.opened", "read contract"], atOnce: true });
    await processes.resume({ at: "run.waiting" });
    await answerTeam(processes, "finance", "costs too much");
    await processes.resume({ at: "run.waiting" });
    await answerTeam(processes, "legal", "is sound");
    return processes.outcome(await processes.resume());
  });
}

/** Two questions of one name are open: the payload tells which is whose, and the key is the way to answer it. */
async function answerTeam(processes: Processes, team: string, answer: string): Promise<void> {
  const open = await processes.questions();
  const asked = open.find(({ payload }) => (payload as { team: string }).team === team);
  await processes.answer(asked!.key, answer);
}

// --- D2: somebody is asked while another branch is at work --------------------------------------------------------------

async function drawUpInvoice(): Promise<string> {
  await work("draw up invoice");
  return "invoice 17";
}

const sendInvoice = workflow("send-invoice", async () => {
  const [invoice, address] = await Promise.all([step(drawUpInvoice), waitFor<string>("address")]);
  return `${invoice} to ${address}`;
});

async function askedOnce(id: string): Promise<Outcome> {
  return inProcesses(id, async (processes) => {
    // The question is recorded, the invoice is half done.
    await processes.start({ ends: ["wait.opened"] });
    await processes.resume({ at: "run.waiting" });
    await processes.answer("address", "12 Mill Lane");
    const output = await processes.resume();
    return processes.outcome({ output, recorded: await processes.recordedKeys() });
  });
}

// --- D3: three people are asked at once, and answer in any order --------------------------------------------------------

async function invite(juror: string): Promise<void> {
  note(`invite ${juror}`);
}

async function thank(juror: string, score: number): Promise<number> {
  note(`thank ${juror}`);
  return score;
}

const judgeCake = workflow("judge-cake", async (jurors: string[]) => {
  const scores = await Promise.all(
    jurors.map(async (juror) => {
      await step(invite, juror);
      const score = await waitFor<number>(juror);
      return step(thank, juror, score);
    }),
  );
  return jurors.map((juror, index) => `${juror} ${scores[index]}`).join(", ");
});

const scores: Record<string, number> = { Ann: 7, Bob: 8, Cleo: 9 };

/** One run for each order; a new process for each answer. */
function inAnyOrder(...orders: string[][]): (id: string) => Promise<Outcome> {
  return async (id) => {
    const results: unknown[] = [];
    const bodies: string[][] = [];
    for (const order of orders) {
      await inProcesses(id, async (processes) => {
        await processes.start({ at: "run.waiting" });
        for (const juror of order.slice(0, -1)) {
          await processes.answer(juror, scores[juror]);
          await processes.resume({ at: "run.waiting" });
        }
        await processes.answer(order.at(-1)!, scores[order.at(-1)!]);
        results.push(await processes.resume());
        bodies.push(...processes.bodies);
      });
    }
    return { result: results, bodies };
  };
}

// --- D4: a step that asks until the answer is valid -----------------------------------------------------------------------

async function checkIn(guest: string): Promise<string> {
  note(`check in ${guest}`);
  for (;;) {
    const number = await waitFor<string>("passport", { payload: guest });
    if (/^[A-Z]{2}\d{6}$/.test(number)) return `${guest}: ${number}`;
  }
}

const openRoom = workflow("open-room", async (guests: string[]) => {
  const checkedIn: string[] = [];
  // The second guest is asked by the same line of code, and never gets an answer of the first.
  for (const guest of guests) checkedIn.push(await step(checkIn, guest));
  return checkedIn;
});

async function untilValid(id: string): Promise<Outcome> {
  return inProcesses(id, async (processes) => {
    const asked: unknown[] = [];
    await processes.start({ at: "run.waiting" });
    const answers = ["12", "AB123456", "none", "CD654321"];
    for (const [index, answer] of answers.entries()) {
      const [open] = await processes.questions();
      asked.push(open!.payload);
      await processes.answer("passport", answer);
      if (index < answers.length - 1) await processes.resume({ at: "run.waiting" });
    }
    const output = await processes.resume();
    return processes.outcome({ output, asked });
  });
}

// --- D5: answers that are refused, and one that is `undefined` --------------------------------------------------------------

const claimExpenses = workflow("claim-expenses", async () => {
  const amount = await waitFor("amount", { schema: z.number().positive() });
  const comment = await waitFor<string | undefined>("comment");
  await step(payOut, amount);
  return { amount, comment: comment ?? "no comment" };
});

async function payOut(amount: number): Promise<void> {
  note(`pay ${amount}`);
}

async function wrongAnswers(id: string): Promise<Outcome> {
  return inProcesses(id, async (processes) => {
    const refused: string[] = [];
    const tell = (error: Error): void => void refused.push(error.message.split(" (run")[0]!);
    await processes.start({ at: "run.waiting" });
    await processes.answer("claim-expenses/receipt", 1).catch(tell);
    // No process has the run: what the schema says is found out when one takes it up, and the question stays open.
    await processes.answer("amount", -5);
    await processes.resume({ at: "run.waiting" });
    await processes.answer("amount", 250);
    await processes.answer("amount", 300).catch(tell);
    await processes.resume({ at: "run.waiting" });
    await processes.answer("amount", 400).catch(tell);
    await processes.answer("comment", undefined);
    const output = await processes.resume();
    await processes.answer("comment", "late").catch(tell);
    const types = processes.events.flat();
    return processes.outcome({ output, refused, bySchema: types.includes("wait.refused") });
  });
}

// --- D6: a pause is nothing that the workflow's code sees -----------------------------------------------------------------------

const holdRoom = workflow("hold-room", async (room: string) => {
  await step(reserve, room);
  try {
    const guest = await waitFor<string>("guest");
    return await step(letTo, room, guest);
  } catch (error) {
    note("caught");
    throw error;
  } finally {
    await step(release, room);
  }
});

async function reserve(room: string): Promise<void> {
  note(`reserve ${room}`);
}

async function letTo(room: string, guest: string): Promise<string> {
  note(`let ${room}`);
  return `${room} to ${guest}`;
}

async function release(room: string): Promise<void> {
  note(`release ${room}`);
}

async function pausedTwice(id: string): Promise<Outcome> {
  return inProcesses(id, async (processes) => {
    await processes.start({ at: "run.waiting" });
    await processes.resume({ at: "run.waiting" });
    await processes.answer("guest", "Dora");
    return processes.outcome(await processes.resume());
  });
}

// ------------------------------------------------------------------------------------------------------------------

const jurors = ["Ann", "Bob", "Cleo"];
const invited = jurors.map((juror) => `invite ${juror}`);
const judged = "Ann 7, Bob 8, Cleo 9";

export const scenarios: readonly Scenario[] = [
  {
    id: "D1",
    what: "two branches ask through one helper, and a hit flips their order: each answer reaches its own question",
    workflow: reviewContract,
    play: answeredByPayload,
    expected: {
      result: { legal: "is sound", finance: "costs too much" },
      bodies: [
        ["read contract", "ask finance"],
        ["ask finance", "ask legal"],
        ["ask finance", "ask legal"],
        ["ask legal", "ask finance"],
      ],
    },
  },
  {
    id: "D2",
    what: "a question while another branch's step is in flight, killed there: asked once, and not lost",
    workflow: sendInvoice,
    play: askedOnce,
    expected: {
      result: {
        output: "invoice 17 to 12 Mill Lane",
        // Asked, done, answered.
        recorded: ["send-invoice/address", "send-invoice/drawUpInvoice", "send-invoice/address"],
      },
      bodies: [["draw up invoice"], ["draw up invoice"], []],
    },
  },
  {
    id: "D3",
    what: "three questions open, answered one at a time, in two orders, each in a new process",
    workflow: judgeCake,
    input: jurors,
    play: inAnyOrder(["Cleo", "Ann", "Bob"], ["Bob", "Cleo", "Ann"]),
    expected: {
      result: [judged, judged],
      bodies: [
        ...[invited, ["thank Cleo"], ["thank Ann"], ["thank Bob"]],
        ...[invited, ["thank Bob"], ["thank Cleo"], ["thank Ann"]],
      ],
    },
  },
  {
    id: "D4",
    what: "a step asks until the answer is valid, for two guests, each answer in a new process: none is used again",
    workflow: openRoom,
    input: ["Ann", "Bob"],
    play: untilValid,
    expected: {
      result: { output: ["Ann: AB123456", "Bob: CD654321"], asked: ["Ann", "Ann", "Bob", "Bob"] },
      bodies: [
        ["check in Ann"],
        ["check in Ann"],
        ["check in Ann", "check in Bob"],
        ["check in Bob"],
        ["check in Bob"],
      ],
    },
  },
  {
    id: "D5",
    what: "answers for an unknown key, of the wrong type, given twice, too late: refused; `undefined` is an answer",
    workflow: claimExpenses,
    play: wrongAnswers,
    expected: {
      result: {
        output: { amount: 250, comment: "no comment" },
        refused: [
          "No open wait has the key claim-expenses/receipt",
          'The wait "amount" has been answered already',
          'The wait "amount" has been answered already',
          "The run is completed and takes no answers",
        ],
        bySchema: true,
      },
      bodies: [[], [], [], ["pay 250"]],
    },
  },
  {
    id: "D6",
    what: "killed in two pauses: no `catch` and no `finally` of the workflow runs because of them",
    workflow: holdRoom,
    input: "room 5",
    play: pausedTwice,
    expected: {
      result: "room 5 to Dora",
      bodies: [["reserve room 5"], [], ["let room 5", "release room 5"]],
    },
  },
];
