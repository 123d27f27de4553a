/**
 * Which calls of two passes a person would call the same: those with the same mark, reached by the same calls, at work on
 * the same thing. Replay keys, names and texts have no say in it.
 */
import type { Ask } from "./world.js";

/** Names calls so that two of different builds have one name if they are the same. */
export type Truth = (asks: readonly Ask[]) => ReadonlyMap<Ask, string | undefined>;

/**
 * @param common marks that both builds have
 * @param passes those that are compared, and whole ones of each build
 */
export function truthOf(common: ReadonlySet<string>, passes: ReadonlyArray<readonly Ask[]>): Truth {
  const wayOf = (ask: Ask): string | undefined => {
    const own = ask.own.filter((mark) => common.has(mark));
    if (own.length === 0) return undefined;
    // Calls that only one of the builds has on the way say nothing.
    return [...ask.way.filter((mark) => common.has(mark)), ...own].join("/");
  };
  const ways = repeatedOf(passes, wayOf);
  // Of many, what each works on says which one it is, whoever has it done: one worker or another.
  const subjectOf = (ask: Ask): string | undefined =>
    ask.label !== undefined && ways.has(wayOf(ask) ?? "") ? `${ask.own.at(-1)} for ${ask.label}` : undefined;
  const subjects = repeatedOf(passes, subjectOf);
  return (asks) => {
    const counts = new Map<string, number>();
    return new Map(
      asks.map((ask) => {
        const way = wayOf(ask);
        if (way === undefined || !ways.has(way)) return [ask, way];
        const subject = subjectOf(ask);
        if (subject !== undefined && !subjects.has(subject)) return [ask, subject];
        const name = `${way} for ${ask.label}`;
        const number = counts.get(name) ?? 0;
        counts.set(name, number + 1);
        return [ask, `${name} ${number}`];
      }),
    );
  };
}

/** What more than one call of a pass has. */
function repeatedOf(passes: ReadonlyArray<readonly Ask[]>, of: (ask: Ask) => string | undefined): Set<string> {
  const repeated = new Set<string>();
  for (const asks of passes) {
    const seen = new Set<string>();
    for (const each of asks.map(of)) {
      if (each === undefined) continue;
      if (seen.has(each)) repeated.add(each);
      seen.add(each);
    }
  }
  return repeated;
}
