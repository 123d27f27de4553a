/**
 * The process that drives a run: `driver.js WORKFLOW RUN ITEMS INGRESS SAVED`. When so many outcomes of steps are saved, the next one
 * is not: the process kills itself with it in hand. Without `SAVED` it comes to the end, and prints the result.
 */
import { Stepmark, type Store } from "stepmark";
import { restateExecutor } from "stepmark/restate";
import { sqliteStore } from "stepmark/sqlite";
import { functions, publishPages, shrinkImages } from "./flow.js";

const [name, id = "", items = "", ingress = "", saved] = process.argv.slice(2);
const workflows = [publishPages, shrinkImages];
const workflow = workflows.find(({ workflowName }) => workflowName === name)!;
const store = sqliteStore("runs.db");
const app = new Stepmark({
  store: saved === undefined ? store : dyingAfter(store, Number(saved)),
  workflows,
  executor: restateExecutor({ ingress, functions }),
});
const run = await app.start(workflow, { run: id, items: items.split(",") }, { id });
console.log(JSON.stringify(await run.result()));
await app.shutdown();
await store.close();

/** The store, but that the process dies instead of saving one outcome more. */
function dyingAfter(store: Store, saved: number): Store {
  let outcomes = 0;
  return new Proxy(store, {
    get(target, method) {
      const value: unknown = Reflect.get(target, method);
      if (typeof value !== "function") return value;
      return (...args: Parameters<Store["append"]>) => {
        if (method === "append") {
          for (const { kind, state } of args[2])
            if (kind === "step" && state === "done" && outcomes++ === saved) process.kill(process.pid, "SIGKILL");
        }
        return Reflect.apply(value as (...args: unknown[]) => unknown, target, args);
      };
    },
  });
}
