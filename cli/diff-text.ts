/** What a change does to a text, for people. */
import type { Look } from "./look.js";

/** Unchanged lines around a change. */
const around = 2;

interface DiffLine {
  readonly sign: " " | "-" | "+";
  readonly text: string;
}

/** A diff in the usual form, without line numbers; the file is new if there is no text before. */
export function diffText(file: string, before: string | undefined, after: string, look: Look): string[] {
  const lines = diffLines(before === undefined ? [] : linesOf(before), linesOf(after));
  const shown = lines.map((_, index) => lines.slice(Math.max(0, index - around), index + around + 1).some(isChange));
  const out = [look.paint("bold", before === undefined ? `${file} (new)` : file)];
  lines.forEach(({ sign, text }, index) => {
    if (!shown[index]) return;
    if (index > 0 && !shown[index - 1] && out.length > 1) out.push(look.paint("gray", "   ..."));
    const line = ` ${sign} ${text}`;
    out.push(sign === " " ? line : look.paint(sign === "+" ? "green" : "red", line));
  });
  return out;
}

function isChange({ sign }: DiffLine): boolean {
  return sign !== " ";
}

function linesOf(text: string): string[] {
  return text.replace(/\r?\n$/, "").split(/\r?\n/);
}

/** By the longest common subsequence. The texts are short: configurations. */
function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  const common: number[][] = Array.from({ length: before.length + 1 }, () =>
    new Array<number>(after.length + 1).fill(0),
  );
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      common[i]![j] =
        before[i] === after[j] ? common[i + 1]![j + 1]! + 1 : Math.max(common[i + 1]![j]!, common[i]![j + 1]!);
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push({ sign: " ", text: before[i]! });
      i++;
      j++;
    } else if (i < before.length && (j === after.length || common[i + 1]![j]! >= common[i]![j + 1]!)) {
      lines.push({ sign: "-", text: before[i++]! });
    } else {
      lines.push({ sign: "+", text: after[j++]! });
    }
  }
  return lines;
}
