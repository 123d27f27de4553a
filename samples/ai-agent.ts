/**
 * The same agent with the AI SDK (`ai`). The SDK drives the loop of model and tools; what makes it durable is that each call
 * of the model is a step, by a middleware of three lines, that each tool does its work in a step, and that a tool may ask
 * a person by `waitFor`, days if need be. The SDK's own code is not transformed and need not be.
 */
import { generateText, stepCountIs, tool, wrapLanguageModel } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { step, waitFor, workflow } from "stepmark";
import { z } from "zod";
import { inProcesses } from "./runner/processes.js";
import type { Outcome, Scenario } from "./runner/scenario.js";
import { work } from "./runner/work.js";

const inputSchema = z.object({ city: z.string() });

export const planTrip = workflow("plan-trip", async (question: string) => {
  const model = wrapLanguageModel({
    model: travelModel,
    middleware: { specificationVersion: "v3", wrapGenerate: async ({ doGenerate }) => step("model", doGenerate) },
  });
  const { text } = await generateText({
    model,
    prompt: question,
    stopWhen: stepCountIs(5),
    tools: {
      forecast: tool({ inputSchema, execute: async ({ city }) => step(forecast, city) }),
      findHotel: tool({ inputSchema, execute: async ({ city }) => step(findHotel, city) }),
      bookTrain: tool({
        inputSchema,
        execute: async ({ city }) => {
          const approved = await waitFor<boolean>("approve", { payload: { tool: "bookTrain", city } });
          return approved ? step(bookTrain, city) : "A person refused this.";
        },
      }),
    },
  });
  return text;
});

async function forecast(city: string): Promise<string> {
  await work(`forecast ${city}`);
  return `sun in ${city}`;
}

async function findHotel(city: string): Promise<string> {
  await work(`findHotel ${city}`);
  return `a room in ${city}`;
}

async function bookTrain(city: string): Promise<string> {
  await work(`bookTrain ${city}`);
  return `a seat to ${city}`;
}

// --- the model: the SDK's mock; put a real one here --------------------------------------------------------------------

type Answer = Awaited<ReturnType<MockLanguageModelV3["doGenerate"]>>;

const travelModel = new MockLanguageModelV3({
  doGenerate: async ({ prompt }) => {
    await work("model");
    const results = prompt.flatMap(({ role, content }) => (role === "tool" ? content.map(outputOf) : []));
    if (results.length > 0) return answer("stop", [{ type: "text", text: `You have ${results.join(", ")}.` }]);
    const input = JSON.stringify({ city: "Lisbon" });
    return answer(
      "tool-calls",
      ["forecast", "findHotel", "bookTrain"].map((toolName, index) => {
        return { type: "tool-call", toolCallId: `call ${index}`, toolName, input };
      }),
    );
  },
});

function outputOf(part: { type: string; output?: unknown }): unknown {
  return (part.output as { value?: unknown } | undefined)?.value;
}

function answer(reason: Answer["finishReason"]["unified"], content: Answer["content"]): Answer {
  const inputTokens = { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined };
  const outputTokens = { total: 20, text: 20, reasoning: undefined };
  return {
    content,
    finishReason: { unified: reason, raw: undefined },
    usage: { inputTokens, outputTokens },
    warnings: [],
  };
}

// --- what happens to it ----------------------------------------------------------------------------------------------

async function killedTwice(id: string): Promise<Outcome> {
  return inProcesses(id, async (processes) => {
    // In the middle of the tools: one has answered, one is at work, one waits for approval.
    await processes.start({ ends: ["model", "forecast Lisbon"] });
    await processes.resume({ at: "run.waiting" });
    await processes.answer("approve", true);
    return processes.outcome(await processes.resume());
  });
}

export const scenarios: readonly Scenario[] = [
  {
    id: "agent ai",
    what: "an agent made with the AI SDK, killed in the middle of its tools, and while a person is asked",
    workflow: planTrip,
    input: "Plan a weekend in Lisbon.",
    play: killedTwice,
    expected: {
      result: "You have sun in Lisbon, a room in Lisbon, a seat to Lisbon.",
      bodies: [["model", "forecast Lisbon", "findHotel Lisbon"], ["findHotel Lisbon"], ["bookTrain Lisbon", "model"]],
    },
  },
];
