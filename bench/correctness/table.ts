/** Outcomes as text: a row a scenario, a column a contender, and a line for each that is not right. */
import type { Contender } from "../contenders/contender.js";
import { grid } from "../harness/grid.js";
import type { Machine } from "../harness/machine.js";
import type { Outcome, Verdict } from "./judge.js";
import { type ScenarioName, scenarios } from "./scenarios.js";

export interface Outcomes {
  machine: Machine;
  /** By contender, by scenario. */
  outcomes: Record<string, Partial<Record<ScenarioName, Outcome>>>;
}

const words: Record<Verdict, string> = {
  right: "right",
  wrong: "**wrong**",
  refused: "refused",
  held: "held",
  stuck: "stuck",
  "not run": "not run",
};

export function page({ machine, outcomes }: Outcomes, contenders: readonly Contender[]): string {
  const names = Object.keys(scenarios) as ScenarioName[];
  const shown = names.filter((name) => contenders.some((each) => outcomes[each.name]?.[name] !== undefined));
  const cell = (outcome: Outcome | undefined): string => (outcome === undefined ? "" : words[outcome.verdict]);
  const table = grid([
    ["", ...contenders.map(({ title }) => title)],
    ...shown.map((name) => [
      `${name}: ${scenarios[name].what}`,
      ...contenders.map((each) => cell(outcomes[each.name]?.[name])),
    ]),
    ["what a step is known by", ...contenders.map(({ identity }) => identity)],
    ["versions", ...contenders.map(({ name }) => versions(machine, name))],
  ]);
  const reasons = contenders.flatMap(({ name, title }) =>
    shown.flatMap((scenario) => {
      const outcome = outcomes[name]?.[scenario];
      if (outcome === undefined || outcome.verdict === "right") return [];
      return [`- ${title}, ${scenario}: ${words[outcome.verdict]}: ${code(outcome.reason ?? "")}`];
    }),
  );
  return [`Run on ${machine.date}.`, table, ...(reasons.length === 0 ? [] : [reasons.join("\n")])].join("\n\n");
}

function versions({ versions }: Machine, name: string): string {
  const { packages, node } = versions[name]!;
  return [...Object.values(packages), `Node ${node}`].join(", ");
}

const code = (text: string): string => `\`${text.replaceAll("`", "'").replaceAll(/\s+/g, " ").slice(0, 220)}\``;
