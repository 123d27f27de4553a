/** Vite plugin for our own tests: applies the node applier, as tspc would, to every file that imports the library. */
import { fileURLToPath } from "node:url";
import ts from "typescript";
import type { Plugin } from "vite";
import { transformFile } from "../../transformer/index.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

export function stepmarkPlugin(): Plugin {
  return {
    name: "stepmark-test",
    enforce: "pre",
    transform(code, id) {
      const path = id.split("?")[0]!;
      if (!/\.[cm]?tsx?$/.test(path) || path.includes("/node_modules/") || !code.includes("stepmark")) return null;
      if (path.startsWith(`${root}runtime/`) || path.startsWith(`${root}transformer/`)) return null;
      const { outputText, sourceMapText } = ts.transpileModule(code, {
        fileName: path,
        compilerOptions: {
          target: ts.ScriptTarget.ES2022,
          module: ts.ModuleKind.ESNext,
          sourceMap: true,
          verbatimModuleSyntax: true,
        },
        transformers: { before: [transformFile(ts, { root })] },
      });
      return { code: outputText.replace(/\/\/# sourceMappingURL=.*\s*$/u, ""), map: sourceMapText ?? null };
    },
  };
}
