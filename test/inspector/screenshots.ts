/** Pictures of the main views, for people to look at. */
import { mkdirSync } from "node:fs";
import path from "node:path";
import type { Page } from "playwright-core";
import { afterAll, it } from "vitest";
import { billing, broken, fulfil, gallery, large } from "./flows.js";
import { chromiumPath, closeAll, inspect, openPage, root, runRow } from "./support.js";

const folder = path.join(root, "test/inspector/dist/screenshots");

afterAll(closeAll);

it.runIf(chromiumPath() !== undefined)("takes pictures", async () => {
  mkdirSync(folder, { recursive: true });
  const { store, app } = await gallery();
  await large(store, "import-all", 10_000);
  const inspector = await inspect(store, { workflows: [fulfil, billing, broken] });
  const shot = async (page: Page, name: string): Promise<void> => {
    await page.waitForTimeout(400);
    await page.screenshot({ path: path.join(folder, `${name}.png`) });
  };
  for (const colorScheme of ["light", "dark"] as const) {
    const { page } = await openPage(inspector, { colorScheme, deviceScaleFactor: 1.5 });
    await runRow(page, "order-17").waitFor();
    await shot(page, `${colorScheme}-list`);
    await runRow(page, "order-17").click();
    await page.getByRole("tree").waitFor();
    await shot(page, `${colorScheme}-run`);
    await page.getByRole("treeitem", { name: "charge" }).click();
    await shot(page, `${colorScheme}-step`);
    await page.getByRole("button", { name: "Journal" }).first().click();
    await page.getByRole("slider").fill("9");
    await shot(page, `${colorScheme}-replay`);
    await runRow(page, "bill-acme").click();
    await page.getByRole("tree").waitFor();
    await shot(page, `${colorScheme}-mismatch`);
    await runRow(page, "sync-2026-11").click();
    await page.getByRole("treeitem", { name: "report" }).waitFor();
    await page.getByRole("treeitem", { name: "fetchPage" }).last().click();
    await shot(page, `${colorScheme}-crash`);
    await runRow(page, "import-all").click();
    await page.getByText("10,000 calls").first().waitFor();
    await shot(page, `${colorScheme}-large`);
    await page.context().close();
  }
  for (const colorScheme of ["light", "dark"] as const) {
    const options = { colorScheme, viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true };
    const { page } = await openPage(inspector, options);
    await runRow(page, "order-17").waitFor();
    await shot(page, `phone-${colorScheme}-list`);
    await runRow(page, "order-17").click();
    await page.getByText("Timeline").first().waitFor();
    await shot(page, `phone-${colorScheme}-timeline`);
    await page.getByRole("button", { name: "Tree" }).click();
    await page.getByRole("treeitem", { name: "charge" }).click();
    await shot(page, `phone-${colorScheme}-tree`);
    await page.getByRole("button", { name: "Details" }).first().click();
    await shot(page, `phone-${colorScheme}-details`);
    await page.context().close();
  }
  await app.shutdown();
});
