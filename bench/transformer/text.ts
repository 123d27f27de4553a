/** How fast text is transformed, and what is in the result: bytes as they are, minified, and compressed. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { transformSync } from "esbuild";
import { transformText } from "stepmark/transform";
import { inTurn, stopwatch } from "./rounds.js";
import { plainFile, workflowFile } from "./sources.js";

const count = 200;
const flows = Array.from({ length: count }, (_, i) => ({ file: `src/flows/flow${i}.ts`, code: workflowFile(i) }));
const plains = Array.from({ length: count }, (_, i) => ({ file: `src/plain/plain${i}.ts`, code: plainFile(i) }));
const options = { root: "/project" };

/** Megabytes of source a second of processor time. */
export async function textSpeed(rounds: number): Promise<Record<string, number>> {
  const speed = (files: typeof flows, work: (code: string, file: string) => unknown) => (): number => {
    const watch = stopwatch();
    let bytes = 0;
    for (const { file, code } of files) {
      work(code, file);
      bytes += Buffer.byteLength(code);
    }
    return bytes / 1e3 / watch();
  };
  const ours = (code: string, file: string): string => transformText(code, { ...options, file })?.code ?? code;
  const strip = (code: string): string => transformSync(code, { loader: "ts" }).code;
  const swc = loadSwc();
  const work: Record<string, () => number> = {
    "text applier, workflow files": speed(flows, ours),
    "text applier, files without the library": speed(plains, ours),
    "text applier and esbuild's type stripping": speed(flows, (code, file) => strip(ours(code, file))),
    "esbuild's type stripping alone": speed(flows, strip),
    ...(swc !== undefined && {
      "SWC and Vercel's Workflow plugin, mode workflow": speed(flows, (code, file) => swc(code, file, "workflow")),
      "SWC and Vercel's Workflow plugin, mode step": speed(flows, (code, file) => swc(code, file, "step")),
      "SWC alone": speed(flows, (code, file) => swc(code, file, undefined)),
    }),
  };
  return inTurn(rounds, work);
}

type Swc = (code: string, file: string, mode: string | undefined) => string;

/** SWC with Vercel's plugin, from a folder of the bench's own; undefined if they cannot be had. */
function loadSwc(): Swc | undefined {
  const folder = join(tmpdir(), "stepmark-bench-swc");
  const require = createRequire(join(folder, "index.js"));
  if (!existsSync(join(folder, "node_modules", "@workflow", "swc-plugin"))) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{ "private": true }');
    const packages = ["@workflow/swc-plugin@4.1.3", "@swc/core@1.15.3"];
    const { status } = spawnSync("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", ...packages], {
      cwd: folder,
      shell: process.platform === "win32",
    });
    if (status !== 0) return undefined;
  }
  const { transformSync: transform } = require("@swc/core") as {
    transformSync(code: string, options: object): { code: string };
  };
  const plugin = join(folder, "node_modules", "@workflow", "swc-plugin", "swc_plugin_workflow.wasm");
  return (code, filename, mode) =>
    transform(code, {
      filename,
      sourceMaps: true,
      jsc: {
        parser: { syntax: "typescript" },
        target: "es2022",
        experimental: { cacheRoot: join(folder, "cache"), plugins: mode === undefined ? [] : [[plugin, { mode }]] },
      },
    }).code;
}

export interface Sizes {
  readonly raw: number;
  readonly minified: number;
  readonly gzip: number;
}

/** Bytes of the workflow files without their types, as the source says and transformed; each file is compressed alone. */
export function emittedSizes(): { source: Sizes; transformed: Sizes } {
  const sizes = (edit: (code: string, file: string) => string): Sizes => {
    let [raw, minified, gzip] = [0, 0, 0];
    for (const { file, code } of flows) {
      const edited = edit(code, file);
      raw += transformSync(edited, { loader: "ts" }).code.length;
      const small = transformSync(edited, { loader: "ts", minify: true }).code;
      minified += small.length;
      gzip += gzipSync(small).length;
    }
    return { raw: raw / count, minified: minified / count, gzip: gzip / count };
  };
  return {
    source: sizes((code) => code),
    transformed: sizes((code, file) => transformText(code, { ...options, file })!.code),
  };
}
