/** The runtime as a function's text, so that every realm can have one of its own. */
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** @returns `(function (require, exports) { ... })` */
export async function bundleRuntime(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("../realm-runtime.ts", import.meta.url))],
    bundle: true,
    platform: "node",
    format: "cjs",
    write: false,
    logLevel: "warning",
  });
  return `(function (require, module) { ${outputFiles[0]!.text}\n return module.exports; })`;
}
