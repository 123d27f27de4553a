/**
 * Runs the samples, `node samples/dist/main.js [--json] [scenario ...]`, and prints what came of them as a table or as
 * JSON. Names one or more scenarios (`B4`, `agent`) to run only those. Exits with 1 if any row is wrong.
 */
import type { Scenario } from "./runner/scenario.js";
import { scenarios } from "./runner/scenarios.js";
import { asText, exitCode, judge, type Row } from "./runner/table.js";

/** So many scenarios run at a time. */
const concurrency = 2;

const names = process.argv.slice(2).filter((argument) => argument !== "--json");
const unknown = names.filter((name) => !scenarios.some((scenario) => isNamed(scenario, name)));
if (unknown.length > 0) {
  console.error(`There is no scenario ${unknown.join(", ")}. There are: ${scenarios.map(({ id }) => id).join(", ")}`);
  process.exit(2);
}
const chosen = scenarios.filter((scenario) => names.length === 0 || names.some((name) => isNamed(scenario, name)));
const rows = await runAll(chosen);
process.exitCode = exitCode(rows);
if (process.argv.includes("--json")) console.log(JSON.stringify(rows, undefined, 2));
else console.log([asText(rows), ...pictures(rows)].join("\n\n"));

/** Of the scenarios that were asked for by name. */
function pictures(all: readonly Row[]): string[] {
  if (names.length === 0) return [];
  return all.flatMap(({ got }, index) => ("error" in got ? [] : (chosen[index]?.show?.(got) ?? [])));
}

/** `A8` names all rows of scenario A8. */
function isNamed({ id }: Scenario, name: string): boolean {
  return id.toLowerCase() === name.toLowerCase() || id.split(" ")[0]!.toLowerCase() === name.toLowerCase();
}

async function runAll(all: readonly Scenario[]): Promise<Row[]> {
  const rows: Row[] = [];
  const waiting = all.entries();
  const takeTurns = async (): Promise<void> => {
    for (const [index, scenario] of waiting) rows[index] = await runOne(scenario);
  };
  await Promise.all(Array.from({ length: concurrency }, takeTurns));
  return rows;
}

async function runOne(scenario: Scenario): Promise<Row> {
  try {
    return judge(scenario, await scenario.play(scenario.id));
  } catch (error) {
    return judge(scenario, { error: error instanceof Error ? error.message : String(error) });
  }
}
