/** Processes of their own that listen: a script is compiled with our transformer and run on the library's sources. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import ts from "typescript";
import { transformFile } from "../../transformer/index.js";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export interface Ended {
  code: number | null;
  output: string;
  errors: string;
}

export interface Scripts {
  /** Runs a script, with `--expose-gc`, to its end; one that does not end is killed after 10 s. */
  run(source: string): Promise<Ended>;
  remove(): void;
}

/** Builds the library where scripts find it by its name, within this package, so that its dependencies are found. */
export function scripts(): Scripts {
  const root = here("../../node_modules/.cache");
  mkdirSync(root, { recursive: true });
  const folder = mkdtempSync(join(root, "events-"));
  const library = join(folder, "node_modules/stepmark");
  buildSync({
    entryPoints: {
      index: here("../../runtime/index.ts"),
      sqlite: here("../../runtime/stores/sqlite.ts"),
      telemetry: here("../../runtime/telemetry/open-telemetry.ts"),
    },
    outdir: library,
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    packages: "external",
  });
  const exports = { ".": "./index.js", "./sqlite": "./sqlite.js", "./telemetry": "./telemetry.js" };
  writeFileSync(join(library, "package.json"), JSON.stringify({ name: "stepmark", type: "module", exports }));
  let scripts = 0;
  return {
    async run(source) {
      const file = join(folder, `script${scripts++}.mjs`);
      writeFileSync(file, compile(source));
      const child = spawn(process.execPath, ["--expose-gc", file], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
      const stop = setTimeout(() => child.kill("SIGKILL"), 10_000);
      const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
      clearTimeout(stop);
      return { code: code as number | null, output, errors };
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function compile(source: string): string {
  return ts.transpileModule(source, {
    fileName: "/script.ts",
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
    transformers: { before: [transformFile(ts, { root: "/" })] },
  }).outputText;
}
