/**
 * How fast the inspector opens a long run and goes through it, in a real Chromium: half of its steps one after the other, half
 * in concurrent branches. `npm run bench:inspector` prints the table; `-- --steps N` sets the run's length. The environment's CHROMIUM names another browser.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chromium, type Page } from "playwright-core";
import { Stepmark, step, workflow } from "stepmark";
import { sqliteStore } from "stepmark/sqlite";

const { values } = parseArgs({ options: { steps: { type: "string", default: "10000" } } });
const steps = Number(values.steps);
/** Longest task of the browser's main thread that nobody notices, in milliseconds, as the Long Tasks API has it. */
const longTask = 50;

const read = async (page: number): Promise<{ page: number; rows: string[] }> => ({ page, rows: ["a", "b", "c"] });

const importAll = workflow("import", async (count: number) => {
  for (let page = 0; page < count / 2; page++) await step(read, page);
  await Promise.all(
    Array.from({ length: count / 4 }, async (_, page) => {
      await step(read, page);
      await step(read, -page);
    }),
  );
});

const folder = mkdtempSync(join(tmpdir(), "stepmark-bench-"));
const file = join(folder, "runs.db");
let server: ChildProcess | undefined;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
try {
  const app = new Stepmark({ store: sqliteStore(file, { synchronous: "NORMAL" }), workflows: [importAll] });
  await (await app.start(importAll, steps, { id: "import" })).result();
  const { length } = await app.entries("import");
  await app.shutdown();

  const command = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));
  server = spawn(process.execPath, [command, "ui", "--store", file], { stdio: ["ignore", "pipe", "inherit"] });
  const [address] = (await once(createInterface(server.stdout!), "line")) as [string];
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(address);
  await page.locator(".run-row").waitFor();
  await page.evaluate(`longTasks = [];
    new PerformanceObserver((list) => longTasks.push(...list.getEntries().map(({ duration }) => duration)))
      .observe({ type: "longtask" })`);

  console.log(`a run of ${length.toLocaleString("en")} entries, Chromium ${browser.version()}`);
  const opening = await open(page);
  tell("open, from the click to the painted tree", `${Math.round(opening)} ms`, await longTasks(page));
  for (const [view, selector] of [
    ["tree", ".tree"],
    ["timeline", ".timeline-box"],
  ] as const)
    tell(`scroll the ${view}`, `${(await scroll(page, selector)).toFixed(1)} ms a frame`, await longTasks(page));
  tell("drag the slider", `${(await slide(page, length)).toFixed(1)} ms a frame`, await longTasks(page));
} finally {
  await browser.close();
  if (server !== undefined) {
    server.kill();
    await once(server, "exit");
  }
  rmSync(folder, { recursive: true });
}

function tell(what: string, time: string, tasks: readonly number[]): void {
  const worst = Math.round(Math.max(0, ...tasks));
  const words = tasks.length === 0 ? "none" : `${tasks.length}, the longest ${worst} ms`;
  console.log(what.padEnd(42), time.padStart(16), `  tasks over ${longTask} ms: ${words}`);
}

/** Milliseconds until the run is there and painted. */
function open(page: Page): Promise<number> {
  return page.evaluate(`(async () => {
    const before = performance.now();
    document.querySelector(".run-row").click();
    while (document.querySelectorAll("[role=treeitem]").length < 5) await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
    return performance.now() - before;
  })()`);
}

/** Tasks over 50 ms since the last question, in milliseconds. They are told late: half a second after there was nothing to do. */
async function longTasks(page: Page): Promise<number[]> {
  await page.evaluate("new Promise((resolve) => setTimeout(resolve, 500))");
  return page.evaluate("longTasks.splice(0)");
}

/** The middle of the times of a few hundred frames, each some rows further. */
function scroll(page: Page, selector: string): Promise<number> {
  return page.evaluate(`(async () => {
    const box = document.querySelector("${selector}");
    const taken = [];
    let last = performance.now();
    for (let count = 0; count < 300; count++) {
      box.scrollTop += count % 10 === 9 ? 20_000 : 370;
      await new Promise(requestAnimationFrame);
      taken.push(performance.now() - last);
      last = performance.now();
    }
    return taken.sort((one, other) => one - other)[taken.length >> 1];
  })()`);
}

/** The same for the slider, from the first entry to the last. */
function slide(page: Page, entries: number): Promise<number> {
  return page.evaluate(`(async () => {
    const slider = document.querySelector("input[type=range]");
    const taken = [];
    let last = performance.now();
    for (let at = 0; at <= ${entries}; at += Math.ceil(${entries} / 100)) {
      slider.value = String(at);
      slider.dispatchEvent(new Event("input", { bubbles: true }));
      await new Promise(requestAnimationFrame);
      taken.push(performance.now() - last);
      last = performance.now();
    }
    return taken.sort((one, other) => one - other)[taken.length >> 1];
  })()`);
}
