import { join } from "node:path";
import { type AnyWorkflow, Stepmark, type Store } from "stepmark";
import { postgresStore } from "stepmark/postgres";
import { sqliteStore } from "stepmark/sqlite";
import type { Engine, Place } from "../contender.js";

function openStore({ folder, database, durability }: Place): Store {
  const synchronous = durability === "power" ? "FULL" : "NORMAL";
  if (database !== undefined) return postgresStore(database, { synchronous });
  return sqliteStore(join(folder, "runs.db"), { synchronous });
}

/** `flows` by the names that they are asked for. */
export async function openEngine(place: Place, flows: Record<string, AnyWorkflow>): Promise<Engine> {
  const store = openStore(place);
  // Waiting runs leave memory at once: those of a service that has many.
  const app = new Stepmark({ store, workflows: Object.values(flows), idle: 0 });
  return {
    async run(flow, input, id) {
      return (await app.start(flows[flow]!, input, { id })).result();
    },
    async resume(_flow, id) {
      return (await app.resume(id)).result();
    },
    async park(id) {
      await (await app.start(flows.waiting!, {}, { id })).settled();
    },
  };
}
