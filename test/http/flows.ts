/** Workflows that the tests of `app.fetch` start. */
import { child, events, publish, step, waitFor, workflow } from "stepmark";

const reserve = async (item: string): Promise<string> => `one ${item}`;

/** A step, something published, a question, and the answer in the output. */
export const order = workflow("order", async (item: string) => {
  const stock = await step(reserve, item);
  await publish("stock", stock);
  const ok = await waitFor<boolean>("approve", { payload: { stock } });
  return ok ? `${stock} sold` : "refused";
});

/** Takes messages until one is "bye". */
export const chat = workflow("chat", async () => {
  const heard: unknown[] = [];
  for await (const message of events<unknown>("words")) {
    heard.push(message);
    if (message === "bye") break;
  }
  return heard;
});

export const echo = workflow("echo", async (input: unknown) => input);

/** Waits in a child run, whose id has a slash in it. */
export const parent = workflow("parent", async (item: string) => child(order, item));

export const broken = { repaired: false };

/** Fails, until it is repaired. */
export const fails = workflow("fails", async () => {
  await step(async () => {
    if (!broken.repaired) throw Object.assign(new TypeError("the card was refused"), { code: "CARD" });
  });
  return "paid";
});

export const workflows = [order, chat, echo, parent, fails];
