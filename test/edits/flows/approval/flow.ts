/** A request that a person approves, and approves again: waits, timers, times and random values. */
import { now, random, sleep, step, uuid, waitFor, workflow } from "stepmark";
import { done } from "../bodies.js";

const draft = async (topic: string) => done("draft", topic);
const notify = async (who: string) => done("notify", who);
const file = async (id: string, decision: string) => done("file", id, decision);

export const w = workflow("approval", async (topic: string) => {
  const asked = await now();
  const id = await uuid();
  const text = await step(draft, topic);
  const first = await waitFor<string>("manager", { payload: text });
  await step(notify, "manager");
  await sleep("2h");
  const second = await waitFor<string>("board");
  await step(notify, "board");
  const lot = await random();
  const decided = await now();
  const filed = await step(file, id, second);
  return { asked, first, second, lot, decided, filed };
});

export const input = "budget";
