import { join } from "node:path";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import Database from "better-sqlite3";
import type { Engine, Place } from "../contender.js";

/** What an entrypoint is, as far as it is used here. */
export interface Entrypoint {
  invoke(input: unknown, config: { configurable: { thread_id: string }; durability: "sync" }): Promise<unknown>;
}

/**
 * @param flows each makes its entrypoint with the checkpointer that it is given
 * @param wrap what an entrypoint is given as its input
 */
export async function openEngine(
  { folder, durability }: Place,
  flows: Record<string, (checkpointer: SqliteSaver) => unknown>,
  wrap = (input: unknown): unknown => input,
): Promise<Engine> {
  const database = new Database(join(folder, "langgraph.db"));
  const saver = new SqliteSaver(database);
  database.pragma("journal_mode = WAL");
  database.pragma(`synchronous = ${durability === "power" ? "FULL" : "NORMAL"}`);
  const invoke = (flow: string, input: unknown, id: string) =>
    (flows[flow]!(saver) as Entrypoint).invoke(input, { configurable: { thread_id: id }, durability: "sync" });
  return {
    run: (flow, input, id) => invoke(flow, wrap(input), id),
    resume: (flow, id) => invoke(flow, null, id),
    async park(id) {
      await invoke("waiting", {}, id);
    },
  };
}
