/**
 * Builds programs that tests run as processes of their own, for plain Node, with our transformer, from the library's sources.
 * Where the tests are run on Postgres, so are the programs.
 */
import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { build, type Plugin } from "esbuild";
import ts from "typescript";
import { transformFile } from "../../transformer/index.js";

/**
 * @param program path of its entry point, from the package's folder; what is transformed are files named `flow.ts` or `...-flow.ts`
 * @returns path of the built program, within this package, so that its dependencies are found
 */
export async function buildChild(program = "test/killstorm/child.ts", root = process.cwd()): Promise<string> {
  const onWhat = process.env.DATABASE_URL === undefined ? "dist" : "dist/on-postgres";
  const outfile = join(root, dirname(program), onWhat, basename(program, ".ts").concat(".js"));
  await build({
    entryPoints: [join(root, program)],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    tsconfig: join(root, "tsconfig.json"),
    plugins: process.env.DATABASE_URL === undefined ? [transformed(root)] : [transformed(root), onPostgres(root)],
  });
  return outfile;
}

function transformed(root: string): Plugin {
  return {
    name: "stepmark-storm",
    setup({ onLoad }) {
      onLoad({ filter: /[\\/](\w+-)?flow\.ts$/ }, async ({ path }) => {
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

/** Puts Postgres in the place of SQLite. */
function onPostgres(root: string): Plugin {
  const path = join(root, "test/postgres/stand-in.ts");
  return {
    name: "stepmark-on-postgres",
    setup({ onResolve }) {
      onResolve({ filter: /^(stepmark|\.\.\/stores)\/sqlite(\.js)?$/ }, () => ({ path }));
    },
  };
}
