/** Where the module's root function goes: on one line, after the last code. */
import type ts from "typescript";
import type { Plan } from "../plan/shape.js";
import type { EditedText } from "./edited-text.js";

interface Comment {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * On the last line if that is empty. Else behind the last code or comment, but not in a line comment, and before the
 * comment that names a source map: tools look for that at the start of the last line.
 */
export function appendRoot(file: ts.SourceFile, text: EditedText, { name, value }: Plan["root"]): void {
  const { original } = text;
  const codeEnd = file.endOfFileToken.pos;
  const comments = commentsAfter(original, codeEnd);
  const map = comments.find((comment) => /^\/[/*][#@]\s*sourceMappingURL=/.test(comment.text));
  const at = placeBefore(map?.start ?? original.length, map === undefined, original, comments);
  const behindCode = !/[\r\n\u2028\u2029]/.test(original.slice(codeEnd, at));
  const space = /\S/.test(original.charAt(at)) ? " " : "";
  text.close(at, `${behindCode ? "; " : ""}function ${name}() { return ${value}; } ${name}();${space}`);
}

function placeBefore(limit: number, isEnd: boolean, original: string, comments: readonly Comment[]): number {
  const before = original.slice(0, limit);
  if (isEnd && /[\r\n\u2028\u2029]\s*$/.test(before)) return limit;
  const last = before.trimEnd().length;
  const inLine = comments.find((comment) => comment.end === last && comment.text.startsWith("//"));
  return inLine?.start ?? last;
}

/** The comments in what follows the last code of a file, which holds nothing else but white space. */
function commentsAfter(original: string, offset: number): Comment[] {
  const found = original.slice(offset).matchAll(/\/\/[^\r\n\u2028\u2029]*|\/\*[\s\S]*?\*\//g);
  return [...found].map(({ index, 0: raw }) => {
    const text = raw.trimEnd();
    return { start: offset + index, end: offset + index + text.length, text };
  });
}
