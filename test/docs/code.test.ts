/** The pages' TypeScript compiles, against the types that the package comes with. `npm run build` makes them. */
import path from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";
import { type Block, blocksOf, pages, repository } from "./blocks.js";

/** Faults that are a page's subject, as the compiler numbers them. */
const meant: Readonly<Record<string, readonly number[]>> = {
  // A return outside of a function, since the function does not matter; a promise as a condition.
  "docs/diagnostics.md": [1108, 2801],
  // The same constants before and after an edit.
  "docs/edits.md": [2451],
};

const blocks = pages.flatMap((page) => blocksOf(page, "ts"));
const nameOf = ({ page, line }: Block): string =>
  path.join(repository, path.dirname(page), `${path.basename(page)}.${line}.ts`);

const options: ts.CompilerOptions = {
  ...{
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    skipLibCheck: true,
  },
  ...{
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    lib: ["lib.es2023.d.ts", "lib.dom.d.ts"],
    types: ["node"],
  },
};

/** What is wrong with modules that are there by name only. */
function faultsIn(modules: ReadonlyMap<string, string>): ReadonlyMap<string, readonly ts.Diagnostic[]> {
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists, readFile } = host;
  host.fileExists = (file) => modules.has(file) || fileExists(file);
  host.readFile = (file) => modules.get(file) ?? readFile(file);
  host.getSourceFile = (file, ...rest) => {
    const text = modules.get(file);
    if (text === undefined) {
      if (!kept.has(file)) kept.set(file, getSourceFile(file, ...rest));
      return kept.get(file);
    }
    return ts.createSourceFile(file, text, ...(rest.slice(0, 1) as [ts.ScriptTarget]));
  };
  const program = ts.createProgram([...modules.keys()], options, host);
  return new Map(
    [...modules.keys()].map((file) => {
      const source = program.getSourceFile(file)!;
      return [file, [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]];
    }),
  );
}

/** Files of the libraries, for the second time. */
const kept = new Map<string, ts.SourceFile | undefined>();

const library = ["Stepmark", "NonRetryableError", "RetryableError", "StepCall", "BlobPlace"].concat(
  ["step", "waitFor", "sleep", "now", "random", "uuid", "child", "publish", "events", "changed", "keyed"],
  ["workflow", "stepContext", "withoutRun", "memoryStore", "blobDirectory", "codec"],
);
const elsewhere: Readonly<Record<string, string>> = {
  z: 'import { z } from "zod";',
  createServer: 'import { createServer } from "node:http";',
  serve: 'import { serve } from "@hono/node-server";',
  it: 'import { it } from "vitest";',
  expect: 'import { expect } from "vitest";',
};

/** What a block takes for granted: of the library, of well-known packages, or of its reader. */
function importOf(name: string): string {
  if (library.includes(name)) return `import { ${name} } from "stepmark";`;
  const reader = path.join(repository, "test/docs/reader.js");
  return elsewhere[name] ?? `import { ${name} } from ${JSON.stringify(reader)};`;
}

/** Names that a module uses and does not have. */
function missing(faults: readonly ts.Diagnostic[]): string[] {
  const texts = faults.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, " "));
  const names = texts.flatMap(
    (text) => /^(?:Cannot find name|No value exists in scope for the shorthand property) '(\w+)'/.exec(text)?.[1] ?? [],
  );
  return [...new Set(names)];
}

it("all blocks of TypeScript compile, with what they take for granted", { timeout: 120_000 }, () => {
  const files = new Map<string, string>();
  for (const block of blocks) files.set(nameOf(block), `${block.code}\nexport {};\n`);
  // Pages of several files import them from one another.
  const [first, second] = blocks.filter(({ page }) => page === "docs/first-steps.md");
  files.set(path.join(repository, "docs/flows.ts"), first!.code);
  expect(second!.code).toContain('from "./flows.js"');
  for (const [file, faults] of faultsIn(files)) {
    const imports = missing(faults).map(importOf);
    files.set(file, `${files.get(file)}${imports.join("\n")}\n`);
  }
  const found = faultsIn(files);
  const wrong = blocks.flatMap((block) => {
    const told = found.get(nameOf(block))!.filter(({ code }) => !meant[block.page]?.includes(code));
    return told.map(({ file, start, messageText }) => {
      const { line } = file!.getLineAndCharacterOfPosition(start!);
      return `${block.page}:${block.line + line} ${ts.flattenDiagnosticMessageText(messageText, " ")}`;
    });
  });
  expect(wrong).toEqual([]);
});
