/** How a replay key is formed: the code, and beside each call the keys under which a run has recorded it. */
import type { Entry } from "stepmark";
import { baseAnchor } from "../../runtime/scope/module-table.js";
import { type Row, RowKind } from "../../runtime/scope/site-table.js";
import { type Colour, line, type Piece, picture, text } from "./svg.js";

export interface KeyPictureOptions {
  /** Text of the module. */
  source: string;
  /** Its table of sites. */
  sites: readonly Row[];
  entries: readonly Entry[];
}

const lineHeight = 22;
const keysAt = 612;

export function keyPicture({ source, sites, entries }: KeyPictureOptions): string {
  const lines = source.split("\n");
  const first = lines.findIndex((each) => each.startsWith("export const "));
  const shown = lines.slice(first).filter((each) => each !== "");
  const elements: string[] = [
    text(16, 26, "the code", { bold: true }),
    text(keysAt, 26, "what one run has recorded", { bold: true }),
  ];
  let y = 54;
  shown.forEach((code, index) => {
    const number = first + index + 1;
    elements.push(
      text(34, y, [{ text: String(number), colour: "quiet" }], { code: true, anchor: "end" }),
      text(46, y, coloured(code, marksOf(number, sites)), { code: true }),
    );
    const keys = keysOf(number, entries);
    keys.forEach((key, row) => {
      if (row > 0) y += lineHeight;
      elements.push(text(keysAt, y, partsOf(key), { code: true }));
    });
    if (keys.length > 0) {
      const from = 46 + code.length * 7.85 + 10;
      elements.push(
        line(from, y - (keys.length - 1) * lineHeight - 4, keysAt - 10, y - (keys.length - 1) * lineHeight - 4, "line"),
      );
    }
    y += lineHeight;
  });
  y += 16;
  const legend: ReadonlyArray<readonly [Colour, string]> = [
    ["workflow", "workflow"],
    ["call", "scope: the call that it is in"],
    ["number", "which function that call has entered: [1] is its second"],
    ["site", "call site, named after what it calls"],
    ["loop", "loop path: @1 is the second iteration"],
  ];
  const columns = [46, 176, 410];
  legend.forEach(([colour, meaning], index) => {
    const x = index < 3 ? columns[index]! : columns[index - 2]!;
    const pieces: Piece[] = [
      { text: "■ ", colour },
      { text: meaning, colour: "quiet" },
    ];
    elements.push(text(x, y + (index < 3 ? 0 : lineHeight), pieces, { small: true }));
  });
  y += lineHeight;
  const title =
    "How a replay key is formed: of the workflow, the calls on the way, the function that each of them entered, and the call site.";
  return picture(850, y + 18, title, elements);
}

/** Keys of what a line has recorded, in the order of the branches. */
function keysOf(number: number, entries: readonly Entry[]): string[] {
  const keys = entries.filter(({ site }) => site?.line === number).map(({ key }) => key);
  return [...new Set(keys)].sort();
}

interface Mark {
  readonly pattern: RegExp;
  readonly colour: Colour;
}

/** What of a line stands in keys. */
function marksOf(number: number, sites: readonly Row[]): Mark[] {
  const marks = sites
    .filter(([, , , at]) => at === number)
    .flatMap(([kind, anchor]): Mark[] => {
      const name = baseAnchor(anchor).replace(/\(.*$/, "");
      if (kind === RowKind.site) return [{ pattern: new RegExp(`\\b${name}\\b`), colour: "site" }];
      if (kind === RowKind.call) return [{ pattern: new RegExp(`\\b${name}\\b`), colour: "call" }];
      return [{ pattern: /async \(\w+\) =>/, colour: "number" }];
    });
  return [
    { pattern: /(?<=workflow\()"\w+"/, colour: "workflow" },
    { pattern: /\bfor \(.*?\)/, colour: "loop" },
    ...marks,
  ];
}

function coloured(code: string, marks: readonly Mark[]): Piece[] {
  const pieces: Piece[] = [];
  let rest = code;
  for (;;) {
    const found = marks
      .map(({ pattern, colour }) => ({ match: pattern.exec(rest), colour }))
      .filter(({ match }) => match !== null)
      .sort((a, b) => a.match!.index - b.match!.index)[0];
    if (found === undefined) return [...pieces, { text: rest }];
    const { index, 0: word } = found.match!;
    if (index > 0) pieces.push({ text: rest.slice(0, index) });
    pieces.push({ text: word, colour: found.colour });
    rest = rest.slice(index + word.length);
  }
}

/** A key in the colours of its parts. */
export function partsOf(key: string): Piece[] {
  return key.split("/").flatMap((part, index, all): Piece[] => {
    const [, name = "", loop, number] = /^(.*?)(@[\d,]+)?(\[.*\])?$/.exec(part)!;
    const colour: Colour = index === 0 ? "workflow" : index === all.length - 1 ? "site" : "call";
    return [
      ...(index === 0 ? [] : [{ text: "/", colour: "quiet" as const }]),
      { text: name, colour },
      ...(loop === undefined ? [] : [{ text: loop, colour: "loop" as const }]),
      ...(number === undefined ? [] : [{ text: number, colour: "number" as const }]),
    ];
  });
}
