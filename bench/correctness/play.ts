/** A scenario's lives, one process after the other, on one store. */
import { join } from "node:path";
import type { Contender } from "../contenders/contender.js";
import { takePlace } from "../harness/places.js";
import { inChild } from "../harness/processes.js";
import type { Order, Report } from "./child.js";
import { type Ending, judge, type Outcome, worst } from "./judge.js";
import { type ScenarioName, scenarios } from "./scenarios.js";
import { readLedger } from "./stage.js";

/** So long a life may take, in milliseconds: longer than any contender holds a run that its process has left. */
const patience = 75_000;

/** @param times each case is played so often, because some outcomes hang on what is faster; the worst counts */
export async function play(
  contender: Contender,
  scenario: ScenarioName,
  server: string | undefined,
  times: number,
): Promise<Outcome> {
  const missing = contender.missing?.();
  if (missing !== undefined) return { verdict: "not run", reason: missing };
  if (contender.store === "Postgres" && server === undefined) {
    return { verdict: "not run", reason: "there is no Postgres" };
  }
  const outcomes: Outcome[] = [];
  for (const index of scenarios[scenario].cases.keys()) {
    for (let time = 0; time < times; time++) outcomes.push(await playCase(contender, scenario, index, server));
  }
  return worst(outcomes);
}

async function playCase(
  contender: Contender,
  scenario: ScenarioName,
  index: number,
  server: string | undefined,
): Promise<Outcome> {
  const { remove, ...place } = await takePlace(contender, "power", server);
  const ledger = join(place.folder, "ledger");
  const live = async (life: number): Promise<Ending | "killed"> => {
    const order: Order = { contender: contender.name, place, scenario, index, life, ledger };
    const { message, late, signal, printed } = await inChild(
      contender,
      new URL("child.js", import.meta.url),
      order,
      patience,
    );
    if (late) return { kind: "late", milliseconds: patience };
    if (signal === "SIGKILL") return "killed";
    const report = message as Report | undefined;
    if (report === undefined)
      return { kind: "error", message: `its process ended: ${printed.trim().split("\n").at(-1)}` };
    if ("value" in report) return { kind: "value", value: report.value };
    if ("held" in report) return { kind: "held", message: report.held };
    return { kind: "error", message: report.error };
  };
  try {
    let ending = await live(1);
    if (ending === "killed" || ending.kind === "error") ending = await live(2);
    if (ending === "killed") ending = { kind: "error", message: "its process was killed" };
    return judge(ending, readLedger(ledger), scenarios[scenario].cases[index]!);
  } finally {
    await remove();
  }
}
