/** All contenders, in the order in which they are printed. Nothing of theirs is loaded before it is asked for. */
import { absurdNamed, absurdPlain } from "./absurd/about.js";
import type { Contender } from "./contender.js";
import { dbos, dbosStarted } from "./dbos/about.js";
import { effect } from "./effect/about.js";
import { langgraph } from "./langgraph/about.js";
import { openWorkflow, openWorkflowNamed } from "./openworkflow/about.js";
import { rawPostgres, rawSqlite } from "./raw/about.js";
import { restate } from "./restate/about.js";
import { stepmarkPostgres, stepmarkSqlite } from "./stepmark/about.js";
import { workflowSdk } from "./workflow-sdk/about.js";

export const contenders: readonly Contender[] = [
  rawSqlite,
  stepmarkSqlite,
  openWorkflow,
  openWorkflowNamed,
  langgraph,
  effect,
  workflowSdk,
  rawPostgres,
  stepmarkPostgres,
  dbos,
  dbosStarted,
  absurdPlain,
  absurdNamed,
  restate,
];

/** @throws where no contender is called so */
export function contender(name: string): Contender {
  const found = contenders.find((each) => each.name === name);
  if (found === undefined) {
    throw new Error(`No contender is called "${name}"; there are ${contenders.map((each) => each.name).join(", ")}`);
  }
  return found;
}
