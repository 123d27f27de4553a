/** docs/first-steps.md, done as it says: by the page's own code, with the package as npm installs it. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { installProgram, type Program } from "./cli/program.js";
import { link } from "./hosts/project.js";

const page = readFileSync(fileURLToPath(new URL("../docs/first-steps.md", import.meta.url)), "utf8");

/** The page's code for a file, which it names in its first line. The cake takes until there is a file `baked`. */
function code(file: string): string {
  const found = new RegExp(`\`\`\`ts\\n(// ${file}\\n[\\s\\S]*?)\`\`\``).exec(page);
  const text = found?.[1] ?? expect.fail(`the page has no ${file}`);
  return text.replace("5_000", '(await import("node:fs")).existsSync("baked") ? 1 : 600_000');
}

let project: Program;
beforeAll(() => {
  project = installProgram("first steps");
  for (const name of ["typescript", "ts-patch", "@types/node"]) link(project.folder, name);
  project.write("package.json", '{ "type": "module" }');
  for (const file of ["src/flows.ts", "src/main.ts"]) project.write(file, code(file));
}, 60_000);
afterAll(() => project.remove());

const compile = (): unknown => project.node("node_modules/ts-patch/bin/tspc.js");
const quiet = { status: 0, stdout: "", stderr: "" };

it("leads to a run that was killed and has completed, and to an edit that keeps its record", async () => {
  expect(project.stepmark("init", "--yes")).toMatchObject({ status: 0, stderr: "" });
  expect(compile()).toMatchObject(quiet);
  const main = path.join("dist", "main.js");
  const first = project.start(main);
  await first.says("packing cake ...");
  // The tea is recorded meanwhile.
  await expect.poll(() => project.stepmark("show", "order-17").stdout).toMatch(/pack {2}done .*src\/flows\.ts:11/);
  first.child.kill("SIGKILL");
  await first.ended;
  expect(project.stepmark("show", "order-17").stdout).toContain("Nobody drives it");
  project.write("baked", "");
  expect(project.node(main)).toMatchObject({ ...quiet, stdout: "packing cake ...\nwaiting [ 'approve' ] undefined\n" });

  expect(project.stepmark("accept").status).toBe(0);
  project.write("src/flows.ts", code("src/flows.ts").replaceAll("pack(", "wrap(").replaceAll("pack,", "wrap,"));
  expect(project.stepmark("check").status).toBe(1);
  expect(project.stepmark("accept", "--yes").status).toBe(0);
  expect(compile()).toMatchObject(quiet);
  expect(project.stepmark("answer", "order-17", "approve", "true").status).toBe(0);
  expect(project.node(main)).toMatchObject({ ...quiet, stdout: "completed [] 2 parcels for Ann\n" });
}, 120_000);
