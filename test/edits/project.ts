/** A project as its texts, and the flows that edits are made to. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";
import { mark } from "./marks.js";

export interface Project {
  /** By path. */
  readonly files: ReadonlyMap<string, string>;
  /** The file that exports the workflow as `w`, and its input as `input`. */
  readonly main: string;
}

export interface Flow extends Project {
  readonly name: string;
}

/** The flows of a folder that holds one folder for each, with a mark at each call. */
export function readFlows(folder = path.resolve("test/edits/flows")): Flow[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => {
      const files = readdirSync(path.join(folder, name));
      const texts = files.map((file) => [file, readFileSync(path.join(folder, name, file), "utf8")] as const);
      return { name, main: "flow.ts", files: mark(new Map(texts)) };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

export function parse(path: string, text: string): ts.SourceFile {
  return ts.createSourceFile(`/${path}`, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TS);
}

/** What is wrong with the syntax of a project's files. */
export function syntaxErrors({ files }: Project): string[] {
  return [...files].flatMap(([path, text]) => {
    const { diagnostics = [] } = ts.transpileModule(text, { fileName: path, reportDiagnostics: true });
    return diagnostics.map(({ messageText, start = 0 }) => {
      const around = text.slice(Math.max(0, start - 80), start + 80);
      return `${path}: ${ts.flattenDiagnosticMessageText(messageText, "\n")} near ${around}`;
    });
  });
}
