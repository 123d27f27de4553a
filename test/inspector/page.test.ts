/** The inspector's page in a real browser. */
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Inspector } from "../../inspector/server.js";
// By their files: what is sent to the browser must not be transformed.
import { Stepmark } from "../../runtime/app/stepmark.js";
import { codec } from "../../runtime/journal/codec.js";
import { escapePart } from "../../runtime/scope/key.js";
import { memoryStore } from "../../runtime/stores/memory.js";
import { billing, broken, fulfil, type Gallery, gallery, large, written } from "./flows.js";
import { chromiumPath, closeAll, inspect, type Opened, openPage, painted, runRow } from "./support.js";

const isHere = chromiumPath() !== undefined;
if (!isHere)
  console.log("No Chromium is at hand (the package `chromium` on Debian): the inspector's page is not tested.");

describe.runIf(isHere)("the page", { timeout: 60_000 }, () => {
  let shown: Gallery;
  let inspector: Inspector;
  let opened: Opened[] = [];
  beforeAll(async () => {
    shown = await gallery();
    inspector = await inspect(shown.store, { workflows: [fulfil, billing, broken] });
  }, 60_000);
  afterEach(async () => {
    const complaints = opened.flatMap((each) => each.complaints).filter((words) => !/status of 422/.test(words));
    await Promise.all(opened.map(({ page }) => page.context().close()));
    opened = [];
    // Also: no request to anybody else, and nothing that the policy had to stop.
    expect(complaints).toEqual([]);
  });
  afterAll(async () => {
    await shown?.app.shutdown();
    await closeAll();
  });

  async function open(options: Parameters<typeof openPage>[1] = {}, at?: string, of = inspector): Promise<Page> {
    const one = await openPage(of, options, at);
    opened.push(one);
    return one.page;
  }
  const run = (id: string): string => `runs/${encodeURIComponent(id)}`;
  const details = (page: Page) => page.getByRole("complementary", { name: "Details" });
  const item = (page: Page, name: string) => page.getByRole("treeitem", { name, exact: false });

  it("takes the token out of the address, and keeps it for a reload", async () => {
    const page = await open();
    await runRow(page, "order-17").waitFor();
    expect(page.url()).toBe(`${inspector.origin}/#/`);
    await page.reload();
    await runRow(page, "order-17").waitFor();
    const other = await page.context().newPage();
    await other.goto(`${inspector.origin}/`);
    await other.getByText("This page needs the token").waitFor();
  });

  it("lists the runs, and narrows the list by status, workflow and text", async () => {
    const page = await open();
    const rows = page.getByRole("listbox", { name: "Runs" }).getByRole("option");
    await rows.first().waitFor();
    expect(await rows.count()).toBe(7);
    await page.getByRole("button", { name: "failed" }).click();
    await expect.poll(() => rows.count()).toBe(2);
    await page.getByRole("combobox", { name: "Filter by workflow" }).selectOption("billing");
    await expect.poll(() => rows.allInnerTexts()).toEqual([expect.stringMatching(/bill-acme[\s\S]*failed/)]);
    await page.getByRole("button", { name: "failed" }).click();
    await page.getByRole("searchbox").fill("GLOB");
    await expect.poll(() => rows.allInnerTexts()).toEqual([expect.stringMatching(/bill-globex[\s\S]*completed/)]);
    await page.getByRole("searchbox").fill("none like this");
    await page.getByText("No run is like that.").waitFor();
  });

  it("shows a run that is started while it looks", async () => {
    const page = await open();
    await runRow(page, "order-17").waitFor();
    await shown.app.start(billing, "late", { id: "bill-late" });
    await runRow(page, "bill-late").waitFor();
    await shown.app.cancel("bill-late");
    await expect.poll(() => runRow(page, "bill-late").innerText()).toContain("cancelled");
    await shown.store.delete("bill-late");
  });

  it("shows a run as a timeline and a tree, linked both ways", async () => {
    const page = await open({}, run("order-17"));
    await item(page, "charge").waitFor();
    const timeline = page.getByRole("application");
    expect(await timeline.getAttribute("aria-label")).toMatch(/^Timeline: 16 calls in \d+ lanes/);
    await item(page, "charge").click();
    expect(await item(page, "charge").getAttribute("aria-selected")).toBe("true");
    await details(page).getByRole("heading", { name: "charge" }).waitFor();
    await details(page).getByText('"receipt"').waitFor();
    await timeline.focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => item(page, "invoice").getAttribute("aria-selected")).toBe("true");
    const canvas = (await page.locator("canvas").boundingBox())!;
    // Along the lane of the workflow, until it is there.
    const tip = page.locator(".tip").filter({ hasText: "reserve" });
    let x = canvas.x + 176;
    const isThere = async (): Promise<boolean> => {
      x += 5;
      await page.mouse.move(x, canvas.y + 28 + 11);
      await painted(page);
      return tip.isVisible();
    };
    while (!(await isThere())) expect(x).toBeLessThan(canvas.x + canvas.width);
    await page.mouse.click(x, canvas.y + 28 + 11);
    await expect.poll(() => item(page, "reserve").getAttribute("aria-selected")).toBe("true");
  });

  it("shows everything of a step: attempts, times, arguments, its place and the lines around it", async () => {
    const page = await open({}, run("order-17"));
    await item(page, "charge").click();
    const shownText = details(page);
    await shownText.getByText("await step({ retries: 3").waitFor();
    const words = await shownText.innerText();
    for (const each of [
      "3\n",
      "fulfil/charge",
      "test/inspector/flows.ts:",
      '["4111111111111111",42]',
      "step.attempted · attempt 3",
    ])
      expect(words).toContain(each);
  });

  it("shows an error with its cause", async () => {
    const page = await open({}, run("import-3"));
    await item(page, "parse").click();
    await details(page).getByText("unexpected end of input", { exact: true }).waitFor();
    await details(page).getByText("offset 512 is outside", { exact: true }).waitFor();
    await page.getByRole("button", { name: "This run" }).click();
    await details(page).getByText("the import failed", { exact: true }).waitFor();
  });

  it("shows what was recorded beside what was asked for, where a record did not fit", async () => {
    const page = await open({}, run("bill-acme"));
    const table = details(page).getByRole("table");
    await table.waitFor();
    const rows = await table.getByRole("row").allInnerTexts();
    expect(rows.map((row) => row.split("\t").map((cell) => cell.replace(/\s+/g, " ").trim()))).toEqual([
      ["", "Recorded", "Asked for"],
      ["Kind", "step", "step"],
      ["Call", "pause", "pause"],
      ["Arguments (differs)", '["eu"]', '["us"]'],
      ["Place", expect.stringContaining("flows.ts:"), expect.stringContaining("flows.ts:")],
      ["Key", "billing/pause", "billing/pause"],
    ]);
    expect(await table.locator("mark").allInnerTexts()).toEqual(["eu", "us"]);
    await table.getByRole("button", { name: "billing/pause" }).click();
    expect(await item(page, "pause").getAttribute("aria-selected")).toBe("true");
    expect(await item(page, "pause").innerText()).toContain("does not fit");
  });

  it("links a child run and its parent", async () => {
    const page = await open({}, run("order-17"));
    await item(page, "invoice").click();
    await details(page).getByRole("button", { name: "order-17/fulfil/invoice" }).click();
    await page.getByRole("heading", { name: "order-17/fulfil/invoice" }).waitFor();
    await details(page).getByRole("button", { name: "order-17", exact: true }).click();
    await page.getByRole("heading", { name: "order-17", exact: true }).waitFor();
  });

  it("goes through a run entry by entry, and shows what was known at each", async () => {
    const page = await open({}, run("order-17"));
    const slider = page.getByRole("slider", { name: "Entry of the journal" });
    await slider.fill("2");
    expect(await slider.getAttribute("aria-valuetext")).toMatch(/^Entry 2 of \d+: step\.completed/);
    await expect.poll(() => page.getByRole("treeitem").count()).toBe(3);
    await slider.press("ArrowRight");
    await item(page, "progress").waitFor();
    await details(page).getByText('"quotes"').waitFor();
    await page.getByRole("button", { name: "To the end" }).click();
    await details(page).getByText('"payment"').waitFor();
    await page.getByRole("button", { name: "To the start" }).click();
    await expect.poll(() => page.getByRole("treeitem").count()).toBe(0);
    const max = await slider.getAttribute("max");
    await slider.fill(String(Number(max) - 4));
    await page.getByRole("button", { name: "Play", exact: true }).click();
    await expect.poll(() => slider.inputValue()).toBe(max);
  });

  it("shows the journal as events", async () => {
    const page = await open({}, run("order-17"));
    await page.getByRole("group", { name: "Shown below" }).getByRole("button", { name: "Journal" }).click();
    const rows = page.getByRole("listbox", { name: "Journal" }).getByRole("option");
    expect(await rows.first().innerText()).toMatch(/1[\s\S]*value\.recorded[\s\S]*fulfil\/now/);
    await rows.filter({ hasText: "wait.opened" }).click();
    await details(page).getByRole("heading", { name: "approve" }).waitFor();
  });

  it("answers a wait: no JSON and what the schema refuses are told, then the run goes on before one's eyes", async () => {
    const store = memoryStore();
    const app = new Stepmark({ store, workflows: [fulfil] });
    await (await app.start(fulfil, { id: "x", items: [] }, { id: "x" })).settled();
    await app.shutdown();
    const page = await open({}, run("x"), await inspect(store, { workflows: [fulfil] }));
    const form = details(page).getByRole("textbox", { name: "Answer approve with JSON" });
    const button = details(page).getByRole("button", { name: "Answer", exact: true });
    await form.fill("{ approved");
    await details(page).getByText("No JSON yet").waitFor();
    expect(await button.isDisabled()).toBe(true);
    await form.fill('{ "approved": true, "by": "x" }');
    await button.click();
    await details(page).getByText("The wait's schema does not take the answer.").waitFor();
    expect(await details(page).getByRole("listitem").first().innerText()).toContain(">=2 characters");
    await form.fill('{ "approved": true, "by": "ada" }');
    await form.press("Control+Enter");
    await details(page).getByText("An answer has been given").waitFor();
    // A process goes on with the run, and takes it.
    const later = new Stepmark({ store, workflows: [fulfil] });
    await later.resume("x");
    await page.locator(".run-state").getByText("completed").waitFor();
    await item(page, "notify").waitFor();
    await details(page).getByRole("heading", { name: "Output" }).waitFor();
    await later.shutdown();
  });

  it("shows a refusal that another process has recorded", async () => {
    const store = memoryStore();
    const value = '[[1],"too short"]';
    const wait = { kind: "wait", name: "ask", value: "[null]" } as const;
    const rows = [
      { ...wait, key: "ask", from: 0, to: 0, state: "open" as const },
      { ...wait, key: "ask", from: 0, to: 50, state: "refused" as const, value },
    ];
    await written(store, "r", "w", Date.now(), rows, null);
    const page = await open({}, run("r"), await inspect(store));
    await item(page, "ask").click();
    await details(page).getByText("Refused: what was wrong").waitFor();
    await details(page).getByText('"too short"').waitFor();
    expect(await item(page, "ask").innerText()).toContain("1 refused");
  });

  it("cancels a run, when asked twice", async () => {
    const app = new Stepmark({ store: shown.store, workflows: [billing] });
    await (await app.start(billing, "c", { id: "bill-c" })).settled();
    await app.shutdown();
    const page = await open({}, run("bill-c"));
    await page.getByRole("button", { name: "Cancel run" }).click();
    await page.getByRole("button", { name: "Keep it" }).click();
    await page.getByRole("button", { name: "Cancel run" }).click();
    await page.getByRole("button", { name: "Cancel it" }).click();
    await page.locator(".run-state").getByText("cancelled").waitFor();
    expect((await shown.store.read("bill-c"))!.status).toBe("cancelled");
    await shown.store.delete("bill-c");
  });

  it("tells what a resume with the workflows at hand would do", async () => {
    const page = await open({}, run("order-17"));
    await details(page).getByRole("button", { name: "Try a replay" }).click();
    await details(page).getByText("goes on with the wait `approve`").waitFor({ timeout: 20_000 });
  });

  it("shows where another process went on", async () => {
    const page = await open({}, run("sync-2026-11"));
    await details(page).getByText("another process from here: 4477").waitFor();
    await page.getByRole("group", { name: "Shown below" }).getByRole("button", { name: "Journal" }).click();
    expect(await page.getByRole("option").filter({ hasText: "another process" }).innerText()).toContain(
      "map()[1]/store",
    );
  });

  it("is light or dark as the system is, until one says otherwise", async () => {
    const background = (page: Page): Promise<string> =>
      page.evaluate("getComputedStyle(document.body).backgroundColor");
    const page = await open({ colorScheme: "dark" });
    await runRow(page, "order-17").waitFor();
    const dark = await background(page);
    await page.emulateMedia({ colorScheme: "light" });
    await expect.poll(() => background(page)).not.toBe(dark);
    await page.getByRole("button", { name: "Dark" }).click();
    expect(await background(page)).toBe(dark);
    await page.reload();
    await runRow(page, "order-17").waitFor();
    expect(await background(page)).toBe(dark);
  });

  it("fits a phone: one thing at a time, and nothing to scroll sideways", async () => {
    const page = await open({ viewport: { width: 390, height: 844 } });
    const fits = async (): Promise<void> =>
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    await runRow(page, "order-17").click();
    await page.getByRole("application").waitFor();
    await fits();
    expect(await runRow(page, "order-17").isVisible()).toBe(false);
    await page.getByRole("button", { name: "Tree", exact: true }).click();
    await item(page, "charge").click();
    await fits();
    await page.getByRole("button", { name: /charge.*Details/ }).click();
    await details(page).getByText('"receipt"').waitFor();
    await fits();
    await page.getByRole("button", { name: "All runs" }).click();
    await runRow(page, "order-17").waitFor();
    await fits();
  });

  it("can be used by the keyboard alone, and shows where one is", async () => {
    const page = await open();
    await runRow(page, "order-17").waitFor();
    const focused = (): Promise<string> =>
      page.evaluate(`(({ activeElement: at }) =>
        (at.getAttribute("role") ?? at.tagName.toLowerCase()) + " " + (at.getAttribute("aria-label") ?? ""))(document)`);
    const tabTo = async (wanted: string): Promise<void> => {
      for (let count = 0; count < 60; count++) {
        await page.keyboard.press("Tab");
        const width = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle");
        const inside = await page.evaluate('document.activeElement.closest(".search") !== null');
        if (!inside) expect(width).not.toBe("none");
        if ((await focused()).startsWith(wanted)) return;
      }
      throw new Error(`${wanted} was not come to`);
    };
    await tabTo("listbox Runs");
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "order-17", exact: true }).waitFor();
    await tabTo("application Timeline");
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowRight");
    await tabTo("tree Scopes");
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowLeft");
    await expect.poll(() => page.getByRole("treeitem").count()).toBe(1);
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowDown");
    await details(page).getByRole("heading", { name: "reserve" }).waitFor();
    await page.keyboard.press("End");
    await details(page).getByRole("heading", { name: "approve" }).waitFor();
    await page.keyboard.press("Enter");
    await expect.poll(focused).toBe("aside Details");
    await tabTo("textarea");
    await page.keyboard.type("{}");
    await page.keyboard.press("Control+Enter");
    await details(page).getByText("does not take the answer").waitFor();
  });

  describe.each(["light", "dark"] as const)("has nothing serious for axe to complain of (%s)", (colorScheme) => {
    /** @returns what looks at a view, in its whole */
    async function accessible(viewport: { width: number; height: number }): Promise<[Page, Look]> {
      // Its script is put in from outside, which the page's own policy would not allow.
      const page = await open({ colorScheme, viewport, bypassCSP: true });
      await page.addScriptTag({ path: createRequire(import.meta.url).resolve("axe-core/axe.min.js") });
      const look: Look = async (view) => {
        await painted(page);
        const found = await page.evaluate<Violation[]>(`axe.run().then(({ violations }) => violations)`);
        const grave = found.filter(({ impact }) => impact === "serious" || impact === "critical");
        expect(
          grave.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 120))]),
          view,
        ).toEqual([]);
      };
      return [page, look];
    }

    it("on a desk", async () => {
      const [page, look] = await accessible({ width: 1280, height: 800 });
      await runRow(page, "order-17").waitFor();
      await look("list");
      await runRow(page, "order-17").click();
      await item(page, "approve").waitFor();
      await look("run");
      await item(page, "charge").click();
      await details(page).getByText("await step").first().waitFor();
      await look("step");
      await runRow(page, "bill-acme").click();
      await details(page).getByRole("table").waitFor();
      await look("mismatch");
      await page.getByRole("group", { name: "Shown below" }).getByRole("button", { name: "Journal" }).click();
      await look("journal");
      await page.getByRole("searchbox").fill("none like this");
      await page.getByText("No run is like that.").waitFor();
      await look("empty list");
    });

    it("on a phone", async () => {
      const [page, look] = await accessible({ width: 390, height: 844 });
      await runRow(page, "order-17").waitFor();
      await look("list");
      await runRow(page, "order-17").click();
      await page.getByRole("application").waitFor();
      await look("timeline");
      const views = page.getByRole("group", { name: "View" });
      await views.getByRole("button", { name: "Tree" }).click();
      await item(page, "charge").click();
      await look("tree");
      await views.getByRole("button", { name: "Journal" }).click();
      await page.getByRole("listbox", { name: "Journal" }).waitFor();
      await look("journal");
      await views.getByRole("button", { name: "Details" }).click();
      await details(page).getByText('"receipt"').waitFor();
      await look("details");
      await details(page).getByRole("button", { name: "This run" }).click();
      await details(page).getByRole("textbox", { name: "Answer approve with JSON" }).waitFor();
      await look("wait");
    });
  });

  type Look = (view: string) => Promise<void>;

  interface Violation {
    id: string;
    impact: string;
    nodes: Array<{ html: string }>;
  }

  describe("hostile data", () => {
    const script = `<img src=x onerror="window.owned=1"><script>window.owned=1</script>`;
    const turned = "\u202etxt.exe\u2066";

    it("is shown as text, whatever it is and wherever it stands", async () => {
      const store = memoryStore();
      const id = `${script}${turned}`;
      const { encode } = codec();
      const name = escapePart(`${script}/${turned}`);
      const error = Object.assign(new Error(script, { cause: script }), { name: script, [script]: script });
      const site = { module: script, line: 1, anchor: script, container: script, moduleText: "", text: "" };
      const rows = [
        { key: name, from: 0, to: 1, value: encode({ [script]: turned }), args: `[${script}]`, site },
        {
          key: "w",
          from: 1,
          to: 1,
          kind: "wait" as const,
          state: "open" as const,
          name: script,
          value: encode(script),
        },
        { key: "p", from: 1, to: 1, kind: "publish" as const, name: script, value: encode(turned) },
        { key: "c", from: 1, to: 1, kind: "child" as const, state: "open" as const, child: script },
        { key: "e", from: 1, to: 2, state: "failed" as const, value: encode(error) },
      ];
      await written(store, id, escapePart(script), Date.now(), rows, { [script]: script });
      const of = await inspect(store);
      const page = await open({}, run(id), of);
      await page.getByRole("heading", { level: 1 }).waitFor();
      expect(await page.getByRole("heading", { level: 1 }).innerText()).toBe(id);
      await details(page).getByText("\\u202etxt.exe\\u2066").first().waitFor();
      for (const each of await page.getByRole("treeitem").all()) {
        await each.click();
        await details(page).getByText("onerror").first().waitFor();
      }
      await page.getByRole("treeitem", { name: "\\u202etxt.exe" }).waitFor();
      expect(await page.evaluate('"owned" in window')).toBe(false);
      expect(await page.locator("img, iframe, object, a[href]").count()).toBe(0);
    });

    it("of 10 MB is cut, and more of it comes when one asks", async () => {
      const store = memoryStore();
      let deep: unknown = "bottom";
      for (let level = 0; level < 900; level++) deep = { deep };
      const value = codec().encode(deep);
      await written(
        store,
        "r",
        "w",
        Date.now(),
        [{ key: "deep", from: 0, to: 1, value }],
        null,
        "x".repeat(10_000_000),
      );
      const page = await open({}, run("r"), await inspect(store));
      const output = page.getByRole("region", { name: "output" });
      await output.waitFor();
      expect((await output.innerText()).length).toBeLessThan(9_000);
      await page.getByRole("button", { name: /Show more: 8,192 characters of 10.0 M/ }).click();
      await expect.poll(async () => (await output.textContent())!.length).toBe(8_192 + 65_536);
      await item(page, "deep").click();
      await details(page).getByText('"deep"').first().waitFor();
      const more = page.getByRole("button", { name: /Show more/ });
      while (await more.isVisible()) await more.click();
      await details(page).getByText("[Too deep]").waitFor();
    });
  });

  it("holds only the rows that are to be seen of a run of 10,000 steps", async () => {
    const store = memoryStore();
    await large(store, "all", 10_000);
    const page = await open({}, run("all"), await inspect(store));
    const rows = page.getByRole("treeitem");
    await item(page, "load@3").waitFor();
    expect(await rows.count()).toBeLessThan(100);
    await rows.first().click();
    await page.keyboard.press("End");
    // The last of the branches, and its last call.
    await item(page, "[2499]").waitFor();
    expect(await rows.last().getAttribute("aria-selected")).toBe("true");
    expect(await rows.count()).toBeLessThan(100);
    await page.getByRole("slider").fill("4000");
    await expect.poll(() => item(page, "load@3999").count()).toBe(1);
    expect(await item(page, "[0]").count()).toBe(0);
  });
});
