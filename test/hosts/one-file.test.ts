/** Programs that are bundled into one file, the package included: nothing of it stands where it was. */
import path from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, it } from "vitest";
import stepmark from "../../transformer/hosts/esbuild.js";
import { installProgram, type Program } from "../cli/program.js";
import { link } from "./project.js";

let project: Program;
beforeAll(() => {
  project = installProgram("one file");
  // Where a deployment has it: beside the bundle, since what is compiled for a machine is no text.
  link(project.folder, "better-sqlite3");
  project.write(
    "main.ts",
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

it.each(["cjs", "esm"] as const)("the store finds its SQLite in a minified bundle (%s)", async (format) => {
  const file = format === "cjs" ? "bundle.cjs" : "bundle.mjs";
  await build({
    absWorkingDir: project.folder,
    entryPoints: ["main.ts"],
    outfile: path.join(format, file),
    bundle: true,
    minify: true,
    platform: "node",
    format,
    define: { DRIVERS: JSON.stringify(drivers) },
    plugins: [stepmark()],
    logLevel: "error",
  });
  const folder = path.join(project.folder, format);
  const { status, stdout, stderr } = project.node(
    "-e",
    `process.chdir(${JSON.stringify(folder)}); import("./${format}/${file}")`,
  );
  expect({ stderr, stdout }).toEqual({
    stderr: "",
    stdout: drivers.map((driver) => `${driver} [ 'A', 'B' ]\n`).join(""),
  });
  expect(status).toBe(0);
});
