/** An agent: a model that asks for tools, which run at once, until it has an answer. */
import { step, workflow } from "stepmark";
import { done, log } from "../bodies.js";

const plans = [["search", "weather"], ["search"], []];

const callModel = async (messages: number) => ({
  by: await done("callModel", messages),
  tools: plans[Math.min(messages, 2)]!,
});
const search = async (query: string) => done("search", query);
const weather = async (place: string) => done("weather", place);
const summarise = async (results: number) => done("summarise", results);

const useTool = async (tool: string, turn: number) => {
  log(tool, turn);
  if (tool === "search") return step(search, `query ${turn}`);
  return step(weather, "Lisbon");
};

export const w = workflow("agent", async (goal: string) => {
  const results: string[] = [];
  for (let turn = 0; turn < 5; turn++) {
    log(turn);
    const reply = await step(callModel, turn);
    if (reply.tools.length === 0) break;
    const found = await Promise.all(reply.tools.map((tool) => useTool(tool, turn)));
    results.push(...found);
  }
  log("end");
  const answer = await step(summarise, results.length);
  return { goal, answer, results };
});

export const input = "a day in Lisbon";
