/** `// stepmark-ignore STEPMARK3001: reason` on the line before: silences one diagnostic in one place. */
import type ts from "typescript";

const sign = "stepmark-ignore";
const comment = new RegExp(`(?://|/\\*)\\s*${sign}\\s+((?:STEPMARK\\d+[\\s,]*)+)`);
const onlyComment = /^\s*(?:\/\/|\/\*|\*|\{\s*\/\*)/;

/** Answers whether the source silences a code on a line, counted from 0. */
export function ignores(file: ts.SourceFile): (code: string, line: number) => boolean {
  if (!file.text.includes(sign)) return () => false;
  const starts = file.getLineStarts();
  const textOf = (line: number): string => file.text.slice(starts[line], starts[line + 1] ?? file.text.length);
  return (code, line) => {
    // Several comments may stand above one another.
    for (let at = line - 1; at >= 0; at--) {
      const text = textOf(at);
      const codes = comment.exec(text)?.[1]?.split(/[\s,]+/);
      if (codes?.includes(code)) return true;
      if (!onlyComment.test(text)) return false;
    }
    return false;
  };
}
