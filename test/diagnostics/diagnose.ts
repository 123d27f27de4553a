/** Diagnoses snippets. */
import ts from "typescript";
import { type Diagnostic, type DiagnosticsOption, diagnoseFile } from "../../transformer/diagnostics/index.js";

const header = `import { changed, child, events, keyed, now, publish, random, sleep, step, stepContext, uuid, waitFor, withoutRun, workflow } from "stepmark";
`;

export interface SnippetOptions {
  fileName?: string;
  diagnostics?: DiagnosticsOption;
  included?: boolean;
}

/** Diagnoses a module. */
export function diagnosticsOf(text: string, options: SnippetOptions = {}): Diagnostic[] {
  const { fileName = "/project/flow.ts", diagnostics, included = false } = options;
  const file = ts.createSourceFile(fileName, text, ts.ScriptTarget.Latest);
  return diagnoseFile(ts, file, { file: "flow.ts", diagnostics, included });
}

/** What a module is told, as `1001 step.call`: the code's digits and the text that is underlined. */
export function told(text: string, options?: SnippetOptions): string[] {
  return diagnosticsOf(text, options).map(
    ({ code, start, length }) => `${code.slice("STEPMARK".length)} ${text.slice(start, start + length)}`,
  );
}

/** The same for a module that has the library's names imported. */
export function toldOf(module: string, options?: SnippetOptions): string[] {
  return told(header + module, options);
}

/** The same for the statements of a workflow: `o`, `items` and `f` mean anything. */
export function toldIn(statements: string, options?: SnippetOptions): string[] {
  return toldOf(
    `declare const f: any, o: any;\nexport const w = workflow("w", async (items: any[]) => {\n${statements}\n});`,
    options,
  );
}
