/** The types that the package comes with, as the compiler of a project sees them. `npm run build` makes them. */
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, it } from "vitest";

const built = (file: string): string => fileURLToPath(new URL(`../dist/${file}.d.ts`, import.meta.url));

it.each(["runtime/index", "runtime/stores/sqlite", "runtime/testing/index"])(
  "%s needs nothing but the language and the web's types: those of Node are not there unless one asks for them",
  (file) => {
    const { ModuleKind: module, ModuleResolutionKind: moduleResolution } = ts;
    const program = ts.createProgram([built(file)], {
      strict: true,
      noEmit: true,
      types: [],
      module: module.NodeNext,
      moduleResolution: moduleResolution.NodeNext,
      skipLibCheck: false,
      skipDefaultLibCheck: true,
    });
    const found = ts.getPreEmitDiagnostics(program);
    expect(
      found.map(({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`),
    ).toEqual([]);
  },
);
