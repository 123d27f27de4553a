/** The diagnostics for TypeScript's language service, as `stepmark/editor` adds them. */
import type ts from "typescript";
import { diagnoseProgram } from "./diagnose-program.js";
import { absoluteOptions, type TransformOptions } from "./options.js";
import type { TypeScript } from "./plan/syntax.js";

/** What of the server's `PluginCreateInfo` is used. */
export interface EditorProject {
  readonly config: TransformOptions;
  readonly languageService: Pick<ts.LanguageService, "getProgram">;
  readonly project?: { readonly projectService?: { readonly logger?: { info(text: string): void } } };
}

/**
 * @returns the diagnostics of a file as it is being edited; none while it has syntax errors, and none at all if the options
 *   are wrong, which is logged: the build says it loudly
 */
export function editorDiagnostics(
  ts: TypeScript,
  { config, languageService, project }: EditorProject,
): (fileName: string) => readonly ts.Diagnostic[] {
  let current: { program: ts.Program; diagnosticsOf: ReturnType<typeof diagnoseProgram> } | undefined;
  return (fileName) => {
    const program = languageService.getProgram();
    const file = program?.getSourceFile(fileName);
    if (program === undefined || file === undefined) return [];
    try {
      if (current?.program !== program) {
        current = { program, diagnosticsOf: diagnoseProgram(ts, program, absoluteOptions(program, config)) };
      }
      return current.diagnosticsOf(file);
    } catch (error) {
      project?.projectService?.logger?.info(`stepmark/editor: ${String(error)}`);
      return [];
    }
  };
}
