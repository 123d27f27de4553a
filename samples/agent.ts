/**
 * An agent: a model asks for tools until it has an answer. Each of the model's turns and each use of a tool is a step;
 * the tools that a turn asks for run at once, and one of them needs a person's approval.
 */
import { step, waitFor, workflow } from "stepmark";
import { inProcesses } from "./runner/processes.js";
import type { Outcome, Scenario } from "./runner/scenario.js";
import { work } from "./runner/work.js";

interface ToolCall {
  tool: keyof typeof tools;
  input: string;
}

type Message =
  | { role: "user"; text: string }
  | { role: "model"; text: string; calls: ToolCall[] }
  | { role: "tool"; text: string };

export const assistant = workflow("assistant", async (question: string) => {
  const messages: Message[] = [{ role: "user", text: question }];
  for (;;) {
    const reply = await step(callModel, messages);
    if (reply.calls.length === 0) return reply.text;
    messages.push(reply, ...(await Promise.all(reply.calls.map(useTool))));
  }
});

async function useTool(call: ToolCall): Promise<Message> {
  const { run, needsApproval } = tools[call.tool];
  if (needsApproval && !(await waitFor<boolean>("approve", { payload: call }))) {
    return { role: "tool", text: `A person refused ${call.tool}.` };
  }
  return { role: "tool", text: await step(run, call.input) };
}

// --- the tools -----------------------------------------------------------------------------------------------------

const tools = {
  forecast: { run: forecast, needsApproval: false },
  findHotel: { run: findHotel, needsApproval: false },
  bookTrain: { run: bookTrain, needsApproval: true },
};

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

// --- the model: put a call of a real one here ------------------------------------------------------------------------

async function callModel(messages: Message[]): Promise<Message & { role: "model" }> {
  await work("callModel");
  const results = messages.filter(({ role }) => role === "tool").map(({ text }) => text);
  if (results.length > 0) return { role: "model", text: `You have ${results.join(", ")}.`, calls: [] };
  const calls: ToolCall[] = [
    { tool: "forecast", input: "Lisbon" },
    { tool: "findHotel", input: "Lisbon" },
    { tool: "bookTrain", input: "Lisbon" },
  ];
  return { role: "model", text: "Let me see.", calls };
}

// --- what happens to it ----------------------------------------------------------------------------------------------

async function killedTwice(id: string): Promise<Outcome> {
  return inProcesses(id, async (processes) => {
    // In the middle of the tools: one has answered, one is at work, one waits for approval.
    await processes.start({ ends: ["callModel", "forecast Lisbon"] });
    await processes.resume({ at: "run.waiting" });
    await processes.answer("approve", true);
    return processes.outcome(await processes.resume());
  });
}

export const scenarios: readonly Scenario[] = [
  {
    id: "agent",
    what: "an agent whose tools run at once, killed in their middle, and while a person is asked",
    workflow: assistant,
    input: "Plan a weekend in Lisbon.",
    play: killedTwice,
    expected: {
      result: "You have sun in Lisbon, a room in Lisbon, a seat to Lisbon.",
      bodies: [
        ["callModel", "forecast Lisbon", "findHotel Lisbon"],
        ["findHotel Lisbon"],
        ["bookTrain Lisbon", "callModel"],
      ],
    },
  },
];
