/** A lottery: calls of one name and one text, whose results go to different names. */
import { step, workflow } from "stepmark";
import { done } from "../bodies.js";

const draw = async () => done("draw");
const check = async (ticket: string) => done("check", ticket);
const announce = async (text: string) => done("announce", text);

const pick = async () => {
  const ticket = await step(draw);
  return ticket;
};

export const w = workflow("lottery", async (name: string) => {
  const first = await step(draw);
  const second = await step(draw);
  const prizes = { gold: await step(draw), silver: await step(draw), bronze: await step(check, "bronze") };
  const [left, right] = await Promise.all([step(check, "left"), step(check, "right")]);
  const joker = await pick();
  const spare = await pick();
  await step(announce, "start");
  const seen = await step(check, first);
  await step(announce, "end");
  return { name, second, prizes, left, right, joker, spare, seen };
});

export const input = "spring";
