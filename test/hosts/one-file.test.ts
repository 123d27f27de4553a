/** Programs that are bundled into one file, the package included: nothing of it stands where it was. */
import path from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, it } from "vitest";
import webpack from "webpack";
import esbuildPlugin from "../../transformer/hosts/esbuild.js";
import webpackPlugin from "../../transformer/hosts/webpack.js";
import { installProgram, type Program } from "../cli/program.js";
import { link } from "./project.js";

let project: Program;
beforeAll(() => {
  project = installProgram("one file");
  // Where a deployment has it: beside the bundle, since what is compiled for a machine is no text.
  link(project.folder, "better-sqlite3");
  project.write(
    "main.js",
    `import { Stepmark, step, workflow } from "stepmark";
     import { sqliteStore } from "stepmark/sqlite";
     const flow = workflow("flow", async () => Promise.all(["a", "b"].map((item) => step(async () => item.toUpperCase()))));
     void (async () => {
       for (const driver of DRIVERS) {
         const app = new Stepmark({ store: sqliteStore(driver + ".db", { driver }), workflows: [flow] });
         const run = await app.start(flow, undefined, { id: "run" });
         console.log(driver, await run.result());
         await app.shutdown();
       }
     })();`,
  );
}, 60_000);
afterAll(() => project.remove());

const drivers = ["better-sqlite3", ...(process.getBuiltinModule?.("node:sqlite") ? ["node:sqlite"] : [])];

const inEsbuild = (format: "cjs" | "esm") => async (folder: string, file: string) => {
  await build({
    ...{ absWorkingDir: project.folder, entryPoints: ["main.js"], outfile: path.join(folder, file) },
    ...{ bundle: true, minify: true, platform: "node", format, logLevel: "error" },
    define: { DRIVERS: JSON.stringify(drivers) },
    plugins: [esbuildPlugin()],
  });
};

async function inWebpack(folder: string, filename: string): Promise<void> {
  const compiler = webpack({
    ...{ context: project.folder, entry: "./main.js", mode: "production", target: "node" },
    optimization: { minimize: false },
    output: { path: path.join(project.folder, folder), filename },
    plugins: [webpackPlugin(), new webpack.DefinePlugin({ DRIVERS: JSON.stringify(drivers) })],
  });
  const stats = await new Promise<webpack.Stats>((resolve, reject) => {
    compiler.run((error, done) => (error ? reject(error) : resolve(done!)));
  });
  expect(stats.compilation.errors).toEqual([]);
}

it.each([
  ["esbuild, CommonJS", "bundle.cjs", inEsbuild("cjs")],
  ["esbuild, ES modules", "bundle.mjs", inEsbuild("esm")],
  ["webpack", "webpack.cjs", inWebpack],
])("the store finds its SQLite in a bundle: %s", async (_, file, bundle) => {
  await bundle("built", file);
  const start = `process.chdir("built"); import("./built/${file}")`;
  const { status, stdout, stderr } = project.node("-e", start);
  expect({ stderr, stdout }).toEqual({
    stderr: "",
    stdout: drivers.map((driver) => `${driver} [ 'A', 'B' ]\n`).join(""),
  });
  expect(status).toBe(0);
});
