/** One life of one run: `node child.js ORDER`. */
import process from "node:process";
import { HeldError, type Place } from "../contenders/contender.js";
import { contender } from "../contenders/index.js";
import { type ScenarioName, scenarios } from "./scenarios.js";
import { setStage } from "./stage.js";

export interface Order {
  contender: string;
  place: Place;
  scenario: ScenarioName;
  /** Which of the scenario's cases. */
  index: number;
  life: number;
  ledger: string;
}

export type Report = { value: unknown } | { error: string } | { held: string };

const { contender: name, place, scenario, index, life, ledger } = JSON.parse(process.argv[2]!) as Order;

async function main(): Promise<Report> {
  const { input, edited, cases } = scenarios[scenario];
  setStage({ ledger, life, direct: cases[index]!.direct });
  const open = await contender(name).correctness!();
  try {
    const engine = await open(place, edited === true && life > 1);
    return { value: await (life === 1 ? engine.run(scenario, input, "run") : engine.resume(scenario, "run")) };
  } catch (error) {
    if (error instanceof HeldError) return { held: error.message };
    return { error: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
  }
}

const report = await main();
await new Promise((resolve) => process.send!(report, resolve));
process.exit(0);
