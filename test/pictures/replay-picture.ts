/** What happens on replay: a process that is killed, and the one that goes on. */
import type { Happening } from "./bodies.js";
import { partsOf } from "./key-picture.js";
import type { Told } from "./runs.js";
import { bar, type Colour, cross, dot, line, picture, text } from "./svg.js";

const rowHeight = 34;
const top = 66;
const keysWidth = 236;
/** Between two things that happen. */
const tick = 32;

export function replayPicture({ recorded, first, second, entries }: Told): string {
  const keys = [...new Set(entries.map(({ key }) => key))].sort(byRow);
  const rowOf = (key: string): number => top + keys.indexOf(key) * rowHeight;
  const seqOf = (key: string): number => entries.find((entry) => entry.key === key)!.seq;
  const elements: string[] = [];
  const bottom = top + keys.length * rowHeight;
  const killedAt = keysWidth + (first.length + 1) * tick;
  const begin = killedAt + tick;
  const live = begin + (recorded.length + 1) * tick;
  const over = live + (second.length + 0.5) * tick;
  for (const key of keys) {
    elements.push(text(16, rowOf(key) + 5, partsOf(key), { code: true }));
    elements.push(line(keysWidth, rowOf(key), over, rowOf(key), "line"));
  }

  elements.push(text(keysWidth, 26, "the first process", { bold: true }));
  elements.push(...bodies(first, keysWidth + tick / 2, killedAt, rowOf, seqOf));
  elements.push(line(killedAt, 40, killedAt, bottom, "dead", true));
  elements.push(text(killedAt, bottom + 18, [{ text: "killed", colour: "dead" }], { anchor: "middle", small: true }));

  elements.push(text(begin, 26, "the next process", { bold: true }));
  recorded.forEach(({ key, seq }, index) => {
    const x = begin + (index + 0.5) * tick;
    elements.push(dot(x, rowOf(key), 6, "call"));
    elements.push(
      text(x, rowOf(key) - 11, [{ text: `#${seq}`, colour: "call" }], { anchor: "middle", small: true, code: true }),
    );
  });
  elements.push(line(live - tick / 2, 40, live - tick / 2, bottom, "line", true));
  elements.push(...bodies(second, live, over, rowOf, seqOf));
  const caption = (x: number, colour: Colour, lines: readonly string[]): string[] =>
    lines.map((words, index) => text(x, bottom + 18 + index * 16, [{ text: words, colour }], { small: true }));
  elements.push(
    ...caption(keysWidth, "site", [
      "live: bodies run;",
      "#n is the entry in the journal",
      "with which the outcome is seen",
    ]),
    ...caption(begin, "call", ["hits: answered", "from the journal,", "in its order"]),
    ...caption(live - tick / 2 + 8, "site", [
      "live again:",
      "only what has no outcome runs,",
      "and goes on where the run was",
    ]),
  );
  const title =
    "What happens on replay: the next process answers recorded steps from the journal in the order in which they were delivered before, and then runs the bodies of those that have no outcome.";
  return picture(over + 16, bottom + 66, title, elements);
}

/** Each body as a bar from its beginning to its end, or to where the process has died. */
function bodies(
  log: readonly Happening[],
  from: number,
  until: number,
  rowOf: (key: string) => number,
  seqOf: (key: string) => number,
): string[] {
  const at = (index: number): number => from + index * tick;
  return log.flatMap(({ what, key }, index) => {
    if (what !== "begins") return [];
    const end = log.findIndex((each) => each.what === "ends" && each.key === key);
    const y = rowOf(key);
    const [start, stop] = [at(index), end < 0 ? until : at(end)];
    const body = bar(start, y - 8, stop - start, 16, "site");
    if (end < 0) return [body, cross(stop, y, 5, "dead")];
    return [body, text(stop + 6, y + 4, [{ text: `#${seqOf(key)}`, colour: "site" }], { small: true, code: true })];
  });
}

/** The calls of one branch together. */
function byRow(a: string, b: string): number {
  const order = ["map()/reserve", "map()/getQuote", "map()[1]/reserve", "map()[1]/getQuote", "book", "book@1"];
  const rank = (key: string): number => order.indexOf(key.slice(key.indexOf("/") + 1));
  return rank(a) - rank(b);
}
