/** The diagnostics of a TypeScript program's files, each worked out at most once. */
import type ts from "typescript";
import { asTypeScript } from "./diagnostics/as-typescript.js";
import { diagnoseFile } from "./diagnostics/index.js";
import { isOff } from "./diagnostics/levels.js";
import { withTypes } from "./diagnostics/with-types.js";
import { type AbsoluteOptions, includes, modulePath } from "./options.js";
import type { TypeScript } from "./plan/syntax.js";
import { hasSyntaxErrors } from "./syntax-errors.js";

/** @param options `root` is absolute */
export function diagnoseProgram(
  ts: TypeScript,
  program: ts.Program,
  { root, include = [], diagnostics }: AbsoluteOptions,
): (file: ts.SourceFile) => readonly ts.Diagnostic[] {
  if (isOff(diagnostics)) return () => [];
  const matches = includes(include);
  const isIncluded = (file: ts.SourceFile): boolean => include.length > 0 && matches(modulePath(root, file.fileName));
  const more = withTypes({ ts, program, isIncluded });
  const known = new WeakMap<ts.SourceFile, readonly ts.Diagnostic[]>();
  return (file) => {
    let found = known.get(file);
    if (found === undefined) {
      const given = hasSyntaxErrors(file)
        ? []
        : diagnoseFile(ts, file, { diagnostics, included: isIncluded(file), file: file.fileName, more });
      found = given.map((diagnostic) => asTypeScript(ts, file, diagnostic));
      known.set(file, found);
    }
    return found;
  };
}
