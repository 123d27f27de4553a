/** The raw limit: one small row a transaction, through better-sqlite3. */
import Database from "better-sqlite3";

export interface DatabaseOptions {
  path: string;
  synchronous: "FULL" | "NORMAL";
}

/** @returns milliseconds */
export function rawCommits({ path, synchronous }: DatabaseOptions, count: number): number {
  const database = new Database(path);
  database.pragma("journal_mode = WAL");
  database.pragma(`synchronous = ${synchronous}`);
  database.exec("CREATE TABLE entries (run TEXT, seq INTEGER, entry TEXT, PRIMARY KEY (run, seq)) WITHOUT ROWID");
  const insert = database.prepare("INSERT INTO entries VALUES (?, ?, ?)");
  const entry = JSON.stringify({
    key: "bench/work@500",
    kind: "step",
    state: "done",
    value: "[1]",
    pad: "x".repeat(250),
  });
  const start = performance.now();
  for (let i = 0; i < count; i++) insert.run("run", i, entry);
  const elapsed = performance.now() - start;
  database.close();
  return elapsed;
}
