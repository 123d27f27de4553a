/** One small row a transaction, through better-sqlite3. */
import { join } from "node:path";
import Database from "better-sqlite3";
import { work } from "../../speed/marks.js";
import type { Engine, Place } from "../contender.js";
import { engineOn } from "./engine.js";
import { row } from "./row.js";

export async function open({ folder, durability }: Place): Promise<Engine> {
  const database = new Database(join(folder, "raw.db"));
  database.pragma("journal_mode = WAL");
  database.pragma(`synchronous = ${durability === "power" ? "FULL" : "NORMAL"}`);
  database.exec(
    "CREATE TABLE IF NOT EXISTS entries (run TEXT, seq INTEGER, entry TEXT, PRIMARY KEY (run, seq)) WITHOUT ROWID",
  );
  const insert = database.prepare("INSERT INTO entries VALUES (?, ?, ?)");
  const select = database.prepare("SELECT entry FROM entries WHERE run = ? ORDER BY seq").pluck();

  /** Goes through rows that are there, and adds those that are not. */
  const write = async (id: string, count: number): Promise<number> => {
    const recorded = select.all(id).map((entry) => JSON.parse(entry as string) as { value: string });
    let sum = 0;
    for (let i = 0; i < count; i++) {
      if (i < recorded.length) sum += JSON.parse(recorded[i]!.value)[0] + 1;
      else {
        sum += await work(i);
        insert.run(id, i, row(i));
      }
    }
    return sum;
  };

  return engineOn({
    write,
    count: (id) => select.all(id).length,
  });
}
