/** `stepmark ui`, run as the program that npm installs. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { buildSync } from "esbuild";
import { sqliteStore } from "stepmark/sqlite";
import { afterAll, beforeAll, expect, it } from "vitest";
import { installPackage } from "../hosts/project.js";
import { written } from "./flows.js";
import { root } from "./support.js";

const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "stepmark-ui-")));
const dist = path.join(folder, "node_modules/stepmark/dist");

beforeAll(async () => {
  mkdirSync(path.join(folder, "node_modules"));
  installPackage(path.join(folder, "node_modules"));
  const entryPoints = ["page.tsx", "page.css"].map((file) => path.join(root, "inspector/page", file));
  buildSync({ entryPoints, bundle: true, format: "esm", outdir: path.join(dist, "inspector/page") });
  writeFileSync(path.join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(path.join(folder, "flow.ts"), "one\nawait step(charge);\n");
  const flows = `export const flow = Object.assign(() => {}, { workflowName: "flow", body: () => {} });\n`;
  writeFileSync(path.join(folder, "flows.js"), flows);
  const store = sqliteStore(path.join(folder, "runs.db"));
  const site = { module: "flow.ts", line: 2, anchor: "charge", container: "", moduleText: "", text: "" };
  await written(store, "r", "flow", Date.now(), [{ key: "charge", from: 0, to: 5, site }], 1, 2);
  await store.close();
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function stepmark(...args: string[]): ChildProcess {
  return spawn(process.execPath, [path.join(dist, "cli/main.js"), "ui", ...args], { cwd: folder });
}

async function firstLine(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) return line;
  throw new Error(await text(child.stderr!));
}

it.each([
  ["a store", ["--store", "runs.db"], undefined],
  ["a store and its workflows", ["--store", "runs.db", "--workflows", "flows.js"], ["flow"]],
])("prints an address with a token, and serves %s until it is interrupted", async (_, args, workflows) => {
  const child = stepmark(...args);
  const url = new URL(await firstLine(child));
  expect(url.href).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{43}$/);
  const headers = { authorization: `Bearer ${url.hash.slice("#token=".length)}` };
  const get = async (at: string): Promise<unknown> => (await fetch(`${url.origin}/api${at}`, { headers })).json();
  expect(await (await fetch(url.origin)).text()).toContain("page.js");
  expect((await fetch(`${url.origin}/page.js`)).status).toBe(200);
  expect(await get("/about")).toEqual({
    version: expect.any(String),
    store: "runs.db",
    ...(workflows && { workflows }),
  });
  expect(await get("/runs")).toMatchObject({ runs: [{ id: "r", status: "completed" }] });
  // The folder of the package.json is the root.
  expect(await get("/runs/r/entries/1")).toMatchObject({
    source: { path: "flow.ts", lines: ["one", "await step(charge);", ""] },
  });
  child.kill("SIGINT");
  const [code] = await once(child, "exit");
  expect(code).toBe(0);
});

it.each([
  [["--store", "none.db"], "there is no store none.db"],
  [["--store", "runs.db", "--port", "99999"], "--port takes a number"],
  [["--store", "runs.db", "--workflows", "none.js"], "there is no module none.js"],
  [["--store", "runs.db", "--host", "256.1.1.1"], "cannot listen there"],
])("refuses %j", async (args, words) => {
  const child = stepmark(...args);
  const [said, [code]] = await Promise.all([text(child.stderr!), once(child, "exit")]);
  expect([code, said]).toEqual([2, expect.stringContaining(words)]);
});

it("says so if the port is taken", async () => {
  const first = stepmark("--store", "runs.db");
  const { port } = new URL(await firstLine(first));
  const second = stepmark("--store", "runs.db", "--port", port);
  const [said, [code]] = await Promise.all([text(second.stderr!), once(second, "exit")]);
  expect([code, said]).toEqual([2, expect.stringContaining("EADDRINUSE")]);
  first.kill("SIGTERM");
  await once(first, "exit");
});
