/** An inspector on a store, and a real browser to look at it with. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from "playwright-core";
import type { Store } from "stepmark";
import { type Inspector, type InspectorOptions, serveInspector } from "../../inspector/server.js";

export const root = fileURLToPath(new URL("../..", import.meta.url));

let folder: string | undefined;
const open: Array<{ close(): Promise<void> }> = [];
let browser: Browser | undefined;

/** The page as it is now, bundled as the build does it. */
async function pageFolder(): Promise<URL> {
  if (folder === undefined) {
    folder = mkdtempSync(path.join(tmpdir(), "stepmark-inspector-"));
    const entryPoints = ["page.tsx", "page.css"].map((file) => path.join(root, "inspector/page", file));
    await build({ entryPoints, bundle: true, minify: true, format: "esm", target: "es2022", outdir: folder });
  }
  return pathToFileURL(`${folder}/`);
}

/** A server that is closed by `closeAll`. */
export async function inspect(store: Store, options: Partial<InspectorOptions> = {}): Promise<Inspector> {
  const inspector = await serveInspector({
    store,
    name: "./.stepmark/runs.db",
    root,
    page: await pageFolder(),
    onError: (error) => console.error(error),
    ...options,
  });
  open.push(inspector);
  return inspector;
}

/** Undefined where no Chromium is installed, or the environment's CHROMIUM, which else names one, is empty. */
export function chromiumPath(): string | undefined {
  if (process.env.CHROMIUM !== undefined) return process.env.CHROMIUM || undefined;
  const folders = ["/usr/bin", "/usr/local/bin", ...(process.env.PATH ?? "").split(path.delimiter)];
  const names = ["chromium", "chromium-browser", "google-chrome"];
  return folders.flatMap((each) => names.map((name) => path.join(each, name))).find((file) => existsSync(file));
}

export interface Opened {
  page: Page;
  /** What the page has complained about. */
  complaints: string[];
}

/** @param at a path below `#/` */
export async function openPage(
  inspector: Inspector,
  options: BrowserContextOptions = {},
  at?: string,
): Promise<Opened> {
  // In a container the browser's own sandbox cannot be had.
  browser ??= await chromium.launch({ executablePath: chromiumPath()!, args: ["--no-sandbox", "--disable-gpu"] });
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  // Nothing may be asked of anybody else.
  page.on("request", (request) => {
    if (!request.url().startsWith(inspector.origin)) complaints.push(`asked for ${request.url()}`);
  });
  if (at === undefined) await page.goto(inspector.url);
  else {
    // As in a tab that was opened with the token before.
    await page.addInitScript(`sessionStorage.setItem("stepmark-token", ${JSON.stringify(inspector.token)})`);
    await page.goto(`${inspector.origin}/#/${at}`);
  }
  return { page, complaints };
}

/** Resolves when what the page has been told to do by now is to be seen. */
export async function painted(page: Page): Promise<void> {
  await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");
}

/** The run's row in the list. */
export function runRow(page: Page, id: string): Locator {
  return page.getByRole("option").filter({ has: page.getByText(id, { exact: true }) });
}

export async function closeAll(): Promise<void> {
  await browser?.close();
  browser = undefined;
  await Promise.all(open.splice(0).map((each) => each.close()));
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  folder = undefined;
}
