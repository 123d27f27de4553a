/** Edits of JSON with comments that leave all else as it is. */
import jsonc, { type FormattingOptions, type JSONPath } from "jsonc-parser";

const { applyEdits, modify, parse } = jsonc;

/** @returns undefined for a text that is not an object in JSON, comments and trailing commas aside */
export function parsedObject(text: string): Record<string, unknown> | undefined {
  const errors: jsonc.ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  return errors.length === 0 && typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

/**
 * Sets a field.
 *
 * @param written its value as it is to stand there
 * @param how `first`: as a new first element of the array at the path before; `sorted`: a new field stands where its name belongs
 */
export function withField(text: string, path: JSONPath, written: string, how?: "first" | "sorted"): string {
  // What the package would write has a line for each field: it writes a word that nothing else has, which is replaced.
  const word = `"stepmark:${text.length}"`;
  const name = String(path.at(-1));
  const edits = modify(text, path, JSON.parse(word), {
    formattingOptions: formatting(text),
    ...(how === "first" && { isArrayInsertion: true }),
    ...(how === "sorted" && {
      getInsertionIndex: (names: string[]) => {
        const index = names.findIndex((each) => each > name);
        return index < 0 ? names.length : index;
      },
    }),
  });
  return applyEdits(text, edits).replace(word, () => written);
}

function formatting(text: string): FormattingOptions {
  const indent = /^([ \t]+)\S/m.exec(text)?.[1] ?? "  ";
  return {
    insertSpaces: !indent.startsWith("\t"),
    tabSize: indent.startsWith("\t") ? 1 : indent.length,
    eol: text.includes("\r\n") ? "\r\n" : "\n",
  };
}
