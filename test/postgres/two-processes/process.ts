/**
 * `node process.js SCHEMA WORKFLOW start|resume|usurp`: has to do with the run "run" of the workflow, once it is told to go. Who
 * usurps takes every owner for dead.
 */
import process from "node:process";
import { type Run, Stepmark, type Store, type StoreError, type Workflow } from "stepmark";
import { postgresStore } from "stepmark/postgres";
import { say, told } from "./body.js";
import { branches, tickets } from "./flow.js";

const id = "run";
const [schema, name, what] = process.argv.slice(2);
const flow = [tickets, branches].find(({ workflowName }) => workflowName === name) as Workflow<void, unknown>;
const store = postgresStore(process.env.DATABASE_URL!, { schema: schema! });
if (what === "usurp") {
  const { claim, read } = { claim: store.claim.bind(store), read: store.read.bind(store) };
  const usurping: Partial<Store> = {
    claim: (run, owner, _isDead, lease) => claim(run, owner, () => true, lease),
    read: async (run) => {
      const found = await read(run);
      return found && { ...found, owner: undefined };
    },
  };
  Object.assign(store, usurping);
}
const app = new Stepmark({ store, workflows: [tickets, branches] });
const codeOf = (error: unknown): string => (error as StoreError).code;
say("up");
await told();
if (what === "start") {
  await app.start(flow, undefined, { id });
  await app.shutdown();
} else {
  const run = await app.resume(id).catch((error: Error) => error);
  say(run instanceof Error ? codeOf(run) : "owner");
  const followed: Run<unknown> = run instanceof Error ? await app.start(flow, undefined, { id }) : run;
  say(await followed.result().catch(codeOf));
  await app.shutdown();
}
await store.close();
process.exit();
