/** What came of all cases: counted by kind of edit, and printed as tables. */
import { type Mode, modes, type Outcome } from "./case.js";
import type { Fate } from "./classify.js";
import type { Case } from "./corpus.js";
import { type Paper, type Scheme, schemes } from "./schemes.js";

/** How many recorded calls came to what. */
type Fates = Partial<Record<Fate, number>>;

/** The cases of one kind of edit. */
export interface Row {
  cases: number;
  /** Calls that a person would say are still there. */
  readonly same: Record<Mode, Fates>;
  /** Those that are gone. */
  readonly gone: Record<Mode, Fates>;
  readonly papers: Record<Scheme, Paper>;
}

const faulty = new Set<Fate>(["taken", "redone"]);
const schemeNames = Object.keys(schemes) as Scheme[];

export class Report {
  /** By kind of edit. */
  readonly rows = new Map<string, Row>();
  readonly total = newRow();
  /** Faults: work that was done again or given to another call, and errors that no edit may lead to. */
  readonly faults: string[] = [];

  add({ flow, family, edit, where }: Case, { resumptions, papers }: Outcome): void {
    const name = family === "pairs" ? "pairs of edits" : edit;
    const row = this.rows.get(name) ?? newRow();
    this.rows.set(name, row);
    for (const into of [row, this.total]) {
      into.cases++;
      for (const scheme of schemeNames)
        for (const [fate, number] of Object.entries(papers[scheme])) into.papers[scheme][fate as keyof Paper] += number;
    }
    for (const { mode, kept, calls, expected, error } of resumptions) {
      const at = `${mode}: ${flow} | ${edit} | ${where} after ${kept}`;
      for (const [{ key }, { fate, same }] of calls) {
        for (const into of [row, this.total]) count(into[same ? "same" : "gone"][mode], fate);
        if (faulty.has(fate)) this.faults.push(`${fate}, ${at}: ${key}`);
      }
      if (!expected) this.faults.push(`unexpected, ${at}: ${error}`);
    }
  }

  /** For people: shares. */
  table(): string {
    const line = (name: string, { cases, same, papers }: Row): string => {
      const ours = modes.map((mode) => share(same[mode], "kept", ["taken", "redone"]));
      const others = schemeNames.map((scheme) => share(papers[scheme], "kept", ["taken"]));
      return cells([name, cases, ...ours, ...others]);
    };
    return [
      ...header(["edit", "cases", ...modes, ...schemeNames]),
      ...[...this.rows].map(([name, row]) => line(name, row)),
      line("all", this.total),
    ].join("\n");
  }

  /** For the docs: a summary, and the counts of each kind of edit. */
  markdown(): string {
    const { same, gone, papers } = this.total;
    const ours = modes.map((mode) => {
      const [, refused, , redone, taken] = countsOf(same[mode]);
      const lost = countsOf(gone[mode]);
      return cells([titles[mode], share(same[mode], "kept", []), refused, redone! + lost[3]!, taken! + lost[4]!]);
    });
    const others = schemeNames.map((scheme) => {
      const { lost, taken } = papers[scheme];
      return cells([titles[scheme], share(papers[scheme], "kept", []), 0, lost, taken]);
    });
    const rows = [...this.rows].map(([name, { cases, same }]) =>
      cells([name, cases, ...modes.map((mode) => countsOf(same[mode]).join(" · "))]),
    );
    return [
      ...header(["ids", "kept", "refused", "redone", "taken"]),
      ...ours,
      ...others,
      "",
      ...header(["edit", "cases", ...modes.map((mode) => titles[mode])]),
      ...rows,
    ].join("\n");
  }

  toJSON(): object {
    return { total: this.total, edits: Object.fromEntries(this.rows), faults: this.faults };
  }
}

const titles: Record<Mode | Scheme, string> = {
  none: "without a lock file",
  old: "lock file of before",
  accepted: "lock file accepted",
  offset: "file, line and column",
  ordinal: "name and number",
  content: "text and number",
};

/** Kept, refused, passed over, redone, taken. */
function countsOf(fates: Fates): number[] {
  const of = (...names: Fate[]): number => names.reduce((sum, name) => sum + (fates[name] ?? 0), 0);
  return [of("kept"), of("refused", "late"), of("orphan", "unreported", "unasked"), of("redone"), of("taken")];
}

function newRow(): Row {
  const byMode = (): Record<Mode, Fates> => ({ none: {}, old: {}, accepted: {} });
  const paper = (): Paper => ({ kept: 0, lost: 0, taken: 0, gone: 0 });
  return {
    cases: 0,
    same: byMode(),
    gone: byMode(),
    papers: { offset: paper(), ordinal: paper(), content: paper() },
  };
}

function count(fates: Fates, fate: Fate): void {
  fates[fate] = (fates[fate] ?? 0) + 1;
}

/** `93 %`, and behind it what should not have happened. */
function share<K extends string>(counts: Partial<Record<K, number>>, good: K, bad: readonly K[]): string {
  const all = Object.values<number | undefined>(counts).reduce<number>((sum, number = 0) => sum + number, 0);
  if (all === 0) return "-";
  const percent = Math.floor(((counts[good] ?? 0) / all) * 1000) / 10;
  const faults = bad.flatMap((fate) => ((counts[fate] ?? 0) === 0 ? [] : [`${counts[fate]} ${fate}`]));
  return [`${percent} %`, ...faults].join(", ");
}

function header(names: readonly string[]): string[] {
  return [cells(names), cells(names.map(() => "---"))];
}

function cells(texts: ReadonlyArray<string | number | undefined>): string {
  return `| ${texts.join(" | ")} |`;
}
