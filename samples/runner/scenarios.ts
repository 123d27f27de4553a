/** All scenarios, in the order of the table. */
import { scenarios as agent } from "../agent.js";
import { scenarios as aiAgent } from "../ai-agent.js";
import { scenarios as concurrentBranches } from "../concurrent-branches.js";
import { scenarios as durability } from "../durability.js";
import { scenarios as honoServer } from "../hono-server.js";
import { scenarios as nestedSteps } from "../nested-steps.js";
import { scenarios as people } from "../people.js";
import { scenarios as saga } from "../saga.js";
import { scenarios as timeline } from "../timeline.js";
import type { Scenario } from "./scenario.js";

export const scenarios: readonly Scenario[] = [
  ...nestedSteps,
  ...concurrentBranches,
  ...durability,
  ...people,
  ...saga,
  ...timeline,
  ...agent,
  ...aiAgent,
  ...honoServer,
];
