/** All scenarios, in the order of the table. */
import { scenarios as agent } from "../agent.js";
import { scenarios as concurrentBranches } from "../concurrent-branches.js";
import { scenarios as durability } from "../durability.js";
import { scenarios as nestedSteps } from "../nested-steps.js";
import type { Scenario } from "./scenario.js";

export const scenarios: readonly Scenario[] = [...nestedSteps, ...concurrentBranches, ...durability, ...agent];
