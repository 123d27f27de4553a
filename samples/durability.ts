/** An order whose card payment fails the first time, while its parcel label is still being printed or saved. */
import { setTimeout as delay } from "node:timers/promises";
import { type Store, step, workflow } from "stepmark";
import { sqliteStore } from "stepmark/sqlite";
import { inProcesses } from "./runner/processes.js";
import type { Outcome, Scenario } from "./runner/scenario.js";
import { note, notes } from "./runner/work.js";

interface Order {
  /** Milliseconds that the printer takes. */
  printing: number;
}

async function openOrder(): Promise<number> {
  note("open order");
  return 0;
}

async function printLabel(last: number, milliseconds: number): Promise<number> {
  note("print label");
  if (milliseconds > 0) await delay(milliseconds);
  return last + 1;
}

async function chargeCard(last: number): Promise<number> {
  const failures = notes().filter((label) => label === "charge card").length;
  note("charge card");
  if (failures === 0) throw new Error("card network is down");
  return last + 2;
}

const fulfil = workflow("fulfil", async ({ printing }: Order) => {
  const last = await step(openOrder);
  return Promise.all([step(printLabel, last, printing), step(chargeCard, last)]);
});

/** The store, with a pause before each save. */
function slow(store: Store, milliseconds: number): Store {
  return new Proxy(store, {
    get(target, name: keyof Store) {
      if (name !== "append") return target[name].bind(target);
      return async (...entries: Parameters<Store["append"]>) => {
        if (milliseconds > 0) await delay(milliseconds);
        return target.append(...entries);
      };
    },
  });
}

/** The run fails in the first process; a second one resumes it. */
async function failThenResume(id: string): Promise<Outcome> {
  return inProcesses(id, async (processes) => {
    const failed = await processes.start().catch((error: Error) => error.message);
    const recorded = await processes.recordedKeys();
    return processes.outcome({ failed, recorded, output: await processes.resume() });
  });
}

// ------------------------------------------------------------------------------------------------------------------

const failed = "card network is down";
const firstPass = ["open order", "print label", "charge card"];

function whileSaving(milliseconds: number): Scenario {
  return {
    id: `C1 ${milliseconds} ms`,
    what: `a payment fails while the label is saved, by a store that takes ${milliseconds} ms`,
    workflow: fulfil,
    input: { printing: 0 },
    options: () => ({ store: slow(sqliteStore("./.stepmark/runs.db"), milliseconds) }),
    play: failThenResume,
    expected: {
      result: { failed, recorded: ["fulfil/openOrder", "fulfil/printLabel", "fulfil/chargeCard"], output: [1, 2] },
      bodies: [firstPass, ["charge card"]],
    },
  };
}

export const scenarios: readonly Scenario[] = [
  whileSaving(0),
  whileSaving(1),
  whileSaving(10),
  {
    id: "C2",
    what: "a payment fails while the label is printed: that is awaited and recorded",
    workflow: fulfil,
    input: { printing: 100 },
    play: failThenResume,
    expected: {
      result: { failed, recorded: ["fulfil/openOrder", "fulfil/chargeCard", "fulfil/printLabel"], output: [1, 2] },
      bodies: [firstPass, ["charge card"]],
    },
  },
  {
    id: "C2 limit",
    what: "the printing exceeds the drain limit: it is not recorded, and nothing is written later",
    workflow: fulfil,
    input: { printing: 400 },
    options: () => ({ drain: 50 }),
    play: failThenResume,
    expected: {
      result: { failed, recorded: ["fulfil/openOrder", "fulfil/chargeCard"], output: [1, 2] },
      bodies: [firstPass, ["print label", "charge card"]],
    },
  },
];
