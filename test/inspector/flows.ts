/** Runs of all sorts to look at. */
import { setTimeout as pause } from "node:timers/promises";
import {
  child,
  type Entry,
  memoryStore,
  now,
  publish,
  type Run,
  Stepmark,
  type Store,
  sleep,
  step,
  waitFor,
  workflow,
} from "stepmark";
import { z } from "zod";

interface Item {
  sku: string;
  quantity: number;
}

async function reserve(items: Item[]): Promise<{ reserved: number; warehouse: string }> {
  await pause(30);
  return { reserved: items.length, warehouse: "north" };
}

async function getQuote({ sku, quantity }: Item): Promise<{ sku: string; price: number; carrier: string }> {
  await pause(20 + 12 * quantity);
  return { sku, price: 4.5 * quantity, carrier: quantity > 2 ? "freight" : "post" };
}

async function book(quote: { sku: string }): Promise<{ parcel: string }> {
  await pause(35);
  return { parcel: `P-${quote.sku}` };
}

let declined = 0;
async function charge(card: string, amount: number): Promise<{ receipt: string }> {
  await pause(25);
  if (declined++ < 2) throw new Error("the bank did not answer", { cause: new TypeError("socket hang up") });
  return { receipt: `${card.slice(-4)}-${amount}` };
}

async function notify(to: string): Promise<string> {
  await pause(15);
  return `mail to ${to}`;
}

const invoice = workflow("invoice", async (amount: number) => {
  const number = await step("number", () => pause(10, 4711));
  await step("archive", () => pause(12));
  return { number, amount };
});

const decision = z.object({ approved: z.boolean(), by: z.string().min(2) });

export const fulfil = workflow("fulfil", async (order: { id: string; items: Item[] }) => {
  const at = await now();
  const stock = await step(reserve, order.items);
  await publish("progress", { stage: "quotes", of: order.items.length });
  const parcels = await Promise.all(
    order.items.map(async (item) => {
      const quote = await step(getQuote, item);
      return step(() => book(quote));
    }),
  );
  await publish("progress", { stage: "payment", parcels: parcels.length });
  const paid = await step({ retries: 3, backoff: 20 }, charge, "4111111111111111", 42);
  const bill = await child(invoice, 42);
  await sleep(60);
  const { by } = await waitFor("approve", { payload: { stock, parcels }, schema: decision });
  await Promise.all([step(notify, by), step("log", () => pause(40))]);
  return { at, paid, bill, parcels };
});

let region = "eu";

export const billing = workflow("billing", async (account: string) => {
  const plan = await step("plan", () => pause(15, { name: "team", seats: 12 }));
  await step(async (where: string) => pause(10, where), region);
  await waitFor("confirm");
  return { account, plan };
});

export const broken = workflow("broken", async () => {
  await step("load", () => pause(12, [1, 2, 3]));
  try {
    await step("parse", async () => {
      throw new SyntaxError("unexpected end of input", { cause: new RangeError("offset 512 is outside") });
    });
  } catch (error) {
    throw new Error("the import failed", { cause: error });
  }
});

export const order = {
  id: "order-17",
  items: [
    { sku: "A-100", quantity: 2 },
    { sku: "B-220", quantity: 5 },
    { sku: "C-7", quantity: 1 },
    { sku: "D-31", quantity: 3 },
  ],
};

export interface Gallery {
  store: Store;
  app: Stepmark;
}

/** A store with a run of each sort. */
export async function gallery(): Promise<Gallery> {
  const store = memoryStore();
  const make = (): Stepmark => new Stepmark({ store, workflows: [fulfil, billing, broken, invoice], grace: 200 });
  const app = make();
  declined = 0;
  await settled(await app.start(broken, undefined, { id: "import-3" }));
  // Recorded with one argument, and asked for with another.
  region = "eu";
  const first = make();
  await settled(await first.start(billing, "acme", { id: "bill-acme" }));
  await first.shutdown();
  region = "us";
  await settled(await app.resume("bill-acme"));
  region = "eu";
  await settled(await app.start(billing, "globex", { id: "bill-globex" }));
  await app.answer("bill-globex", "confirm", true);
  await app.start(billing, "initech", { id: "bill-initech" });
  await app.cancel("bill-initech");
  await crashed(store);
  await settled(await app.start(fulfil, order, { id: order.id }));
  return { store, app };
}

async function settled(run: Run<unknown>): Promise<void> {
  await run.settled();
}

/** A run that was killed in the midst of two bodies and taken up by another process, with times of our choosing. */
async function crashed(store: Store): Promise<void> {
  const id = "sync-2026-11";
  const start = Date.now() - 47 * 60_000;
  const rows: Array<Partial<Entry> & { key: string; from: number; to: number }> = [
    { key: "listPages", from: 10, to: 420, process: "3120-a1b2c3" },
    { key: "map()[0]/fetchPage", from: 440, to: 1_300 },
    { key: "map()[1]/fetchPage", from: 440, to: 1_720 },
    { key: "map()[2]/fetchPage", from: 440, to: 440, state: "attempt" },
    { key: "map()[0]/store", from: 1_310, to: 1_900 },
    { key: "map()[1]/store", from: 9_400, to: 9_950, process: "4477-d4e5f6" },
    { key: "map()[2]/fetchPage", from: 9_400, to: 9_400, state: "attempt", attempt: 2 },
    { key: "map()[2]/fetchPage", from: 9_402, to: 10_900, attempt: 2 },
    { key: "map()[2]/store", from: 10_910, to: 11_300 },
    { key: "pause", from: 11_310, to: 11_310, kind: "timer", state: "open", due: start + 1_211_310 },
    { key: "pause", from: 11_310, to: 1_211_320, kind: "timer", due: start + 1_211_310 },
    { key: "report", from: 1_211_330, to: 1_212_050 },
  ];
  await written(store, id, "sync", start, rows, { pages: 3 }, { pages: 3, rows: 512 });
}

type Rough = Partial<Entry> & { key: string; from: number; to: number };

/** Puts a run into a store without running anything. */
export async function written(
  store: Store,
  id: string,
  workflow: string,
  start: number,
  rows: readonly Rough[],
  input: unknown,
  output?: unknown,
): Promise<void> {
  const { codec } = await import("stepmark");
  const { encode } = codec();
  await store.create({ id, workflow, input: encode(input), inputPrint: "", scheme: 1, createdAt: start });
  const owner = { token: "gone", host: "elsewhere", pid: 1, processStart: "" };
  const claim = await store.claim(id, owner, () => true, { now: start, until: start });
  if (!claim.claimed) throw new Error("not claimed");
  const entries = rows.map(({ key, from, to, ...more }, index): Entry => {
    const state = more.state ?? "done";
    const outcome = state === "done" || state === "failed";
    return {
      seq: index + 1,
      key: `${workflow}/${key}`,
      kind: "step",
      attempt: 1,
      startedAt: start + from,
      endedAt: start + to,
      ...(outcome && { value: encode({ ok: true }) }),
      ...more,
      state,
    };
  });
  const { fence } = claim.run;
  const change = output === undefined ? {} : ({ status: "completed", output: encode(output) } as const);
  for (let from = 0; from < entries.length || from === 0; from += 1_000)
    await store.append(id, fence, entries.slice(from, from + 1_000), {});
  await store.append(id, fence, [], { ...change, release: true });
}

/** A run of many steps: half of them in a loop, half in concurrent branches. */
export async function large(store: Store, id: string, steps: number): Promise<void> {
  const rows: Rough[] = [];
  for (let index = 0; index < steps / 2; index++)
    rows.push({ key: index === 0 ? "load" : `load@${index}`, from: index * 7, to: index * 7 + 6 });
  const from = (steps / 2) * 7;
  const branches = steps / 4;
  for (let index = 0; index < branches; index++)
    rows.push({ key: `map()[${index}]/read`, from: from + 5, to: from + 40 + (index % 37) * 9 });
  for (let index = 0; index < branches; index++)
    rows.push({ key: `map()[${index}]/write`, from: from + 400, to: from + 450 + (index % 53) * 11 });
  await written(store, id, "import", Date.now() - from - 2_000, rows, { steps }, { steps });
}
