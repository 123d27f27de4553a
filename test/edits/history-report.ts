/** What came of runs that several builds have recorded. */
import { type HistoryOutcome, type Last, lasts } from "./histories.js";

interface Row {
  runs: number;
  refused: number;
  recorded: number;
  answered: number;
}

export class HistoryReport {
  readonly rows = new Map<string, Row>();
  /** Work that was done again or given to another call, and errors that no edit may lead to. */
  readonly faults: string[] = [];
  /** Refusals, by what they say. */
  readonly refusals: string[] = [];

  add({ flow, edits, locked, last, kept, answered, recorded, error, faults }: HistoryOutcome): void {
    const name = nameOf(last, locked);
    const row = this.rows.get(name) ?? { runs: 0, refused: 0, recorded: 0, answered: 0 };
    this.rows.set(name, row);
    const at = `${locked ? "lock file" : "no lock file"}: ${flow} | ${edits} | ${last} after ${kept.join(" and ")}`;
    row.runs++;
    for (const fault of faults) this.faults.push(`${fault}, ${at}`);
    const isRefused = /^(RETIRED_SITE|AMBIGUOUS_SITE|REPLAY_MISMATCH|DIVERGENCE)$/.test(error ?? "");
    if (isRefused) {
      row.refused++;
      this.refusals.push(`${error}, ${at}`);
      return;
    }
    row.recorded += recorded;
    row.answered += answered;
  }

  markdown(): string {
    const line = (name: string): string => {
      const { runs, refused, recorded, answered } = this.rows.get(name)!;
      return `| ${name} | ${runs} | ${refused} | ${answered} of ${recorded} |`;
    };
    const names = lasts.flatMap((last) => [nameOf(last, false), nameOf(last, true)]);
    return [
      "| resumed under | runs | refused | recorded calls that were answered, of the others |",
      "| --- | --- | --- | --- |",
      ...names.filter((name) => this.rows.has(name)).map(line),
    ].join("\n");
  }
}

function nameOf(last: Last, locked: boolean): string {
  return `${last}, ${locked ? "with the lock file" : "without a lock file"}`;
}
