/** Builds the storm's process for plain Node, with our transformer, from the library's sources. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { build, type Plugin } from "esbuild";
import ts from "typescript";
import { transformFile } from "../../transformer/index.js";

/** @returns path of the built `child.ts`, within this package, so that its dependencies are found */
export async function buildChild(root = process.cwd()): Promise<string> {
  const outfile = join(root, "test/killstorm/dist/child.js");
  await build({
    entryPoints: [join(root, "test/killstorm/child.ts")],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    tsconfig: join(root, "tsconfig.json"),
    plugins: [transformed(root)],
  });
  return outfile;
}

function transformed(root: string): Plugin {
  return {
    name: "stepmark-storm",
    setup({ onLoad }) {
      onLoad({ filter: /killstorm[\\/]flow\.ts$/ }, async ({ path }) => {
        const { outputText } = ts.transpileModule(await readFile(path, "utf8"), {
          fileName: path,
          compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true },
          transformers: { before: [transformFile(ts, { root })] },
        });
        return { contents: outputText, loader: "js" };
      });
    },
  };
}
