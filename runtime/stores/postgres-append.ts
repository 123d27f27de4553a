/** Appends on their way to Postgres: a group of them is one statement, which takes or refuses each by itself. */
import type { Entry } from "../journal/entry.js";
import type { Groupable } from "./group-commit.js";
import { type PostgresSession, PreparedStatements, storable } from "./postgres-driver.js";
import type { AppendStatements } from "./postgres-schema.js";
import { sealedAnswer, sealedEntry, sealedError, sealedOutput } from "./rows.js";
import type { RunChange } from "./store.js";

export interface Append extends Groupable {
  fence: number;
  /** Replay key of the first entry. */
  key: string | undefined;
  /** Number of the first entry. */
  first: number;
  texts: readonly string[];
  /** JSON of what the function `change` takes. */
  change: string | null;
  /** The run that is woken. */
  wakes: string | undefined;
}

/** What became of an append: taken; its owner is stale; its entries leave a gap, or their numbers are in the journal. */
export type Verdict = "t" | "s" | "g";

/** @param at when the change is made, in milliseconds since the epoch */
export function appendOf(
  id: string,
  fence: number,
  entries: readonly Entry[],
  change: RunChange | undefined,
  at: number,
): Append {
  const texts = entries.map((entry) => sealedEntry(id, entry));
  const changed = change === undefined ? null : changeText(id, change, at);
  const size = texts.reduce((sum, { length }) => sum + length, changed?.length ?? 0);
  const [first] = entries;
  return { id, fence, key: first?.key, first: first?.seq ?? 0, texts, change: changed, wakes: change?.wake?.run, size };
}

export class Appender {
  readonly #prepared = new PreparedStatements();

  /** @param sender the store, to those who listen */
  constructor(
    private readonly statements: AppendStatements,
    private readonly sender: string,
  ) {}

  /** @throws whatever `pg` throws; then it is not known what became of the appends */
  async write(session: PostgresSession, group: readonly Append[]): Promise<Verdict[]> {
    const [only] = group;
    if (group.length === 1 && only!.texts.length === 1 && only!.change === null) {
      const { id, fence, first, texts } = only!;
      const [row] = await this.#prepared.ask(session, this.statements.appendEntry, [id, fence, first, texts[0]]);
      return [row!.verdict as Verdict];
    }
    const parts = inParts(group);
    const of = <T>(field: (append: Append) => T): T[] => parts.map(([append]) => field(append!));
    const [row] = await this.#prepared.ask(session, this.statements.append, [
      of(({ id }) => id),
      of(({ fence }) => fence),
      of(({ first }) => first),
      parts.map((part) => part.reduce((sum, { texts }) => sum + texts.length, 0)),
      group.flatMap(({ texts }) => texts),
      of(({ change }) => change),
      this.sender,
    ]);
    const verdicts = row!.verdicts as string;
    return parts.flatMap((part, index) => part.map(() => verdicts[index] as Verdict));
  }
}

/** Entries of one run that follow each other are taken together. */
function inParts(group: readonly Append[]): Append[][] {
  const parts: Append[][] = [];
  for (const append of group) {
    const part = parts.at(-1);
    if (part !== undefined && follows(append, part.at(-1)!)) part.push(append);
    else parts.push([append]);
  }
  return parts;
}

function follows({ id, fence, first, texts, change }: Append, last: Append): boolean {
  const areEntries = change === null && last.change === null && texts.length > 0 && last.texts.length > 0;
  return areEntries && id === last.id && fence === last.fence && first === last.first + last.texts.length;
}

function changeText(id: string, change: RunChange, at: number): string {
  const { status, output, error, culprits, orphans, edited, due, keeper, wake, consume, refuse, release } = change;
  const list = (value: string[] | null | undefined) => replaced(value, JSON.stringify);
  return JSON.stringify({
    status,
    // As text: JSON has not every number that a clock may give.
    at: String(at),
    output: replaced(output, (text) => storable(sealedOutput(id, text))),
    error: replaced(error, (text) => storable(sealedError(id, text))),
    culprits: list(culprits),
    orphans: list(orphans),
    edited: list(edited),
    due: replaced(due, String),
    keeper,
    consume,
    refuse,
    release: release || undefined,
    wake: wake && {
      run: storable(wake.run),
      target: storable(wake.target),
      value: sealedAnswer(wake.run, { ...wake, value: "" }),
      at: String(wake.at),
    },
  });
}

/** `undefined` leaves a column, `null` clears it. */
function replaced<T>(value: T | null | undefined, by: (value: T) => unknown): unknown {
  return value === undefined || value === null ? value : by(value);
}
