/** One small row a transaction, on one connection for each run. */
import { Pool } from "pg";
import { work } from "../../speed/marks.js";
import type { Engine, Place } from "../contender.js";
import { engineOn } from "./engine.js";
import { row } from "./row.js";

export async function open({ database }: Place): Promise<Engine> {
  const pool = new Pool({ connectionString: database!, max: 10 });
  await pool.query("CREATE TABLE IF NOT EXISTS entries (run text, seq integer, entry text, PRIMARY KEY (run, seq))");
  const insert = { name: "insert", text: "INSERT INTO entries VALUES ($1, $2, $3)" };

  /** Goes through rows that are there, and adds those that are not. */
  const write = async (id: string, count: number): Promise<number> => {
    const client = await pool.connect();
    try {
      const { rows } = await client.query("SELECT entry FROM entries WHERE run = $1 ORDER BY seq", [id]);
      const recorded = (rows as { entry: string }[]).map(({ entry }) => JSON.parse(entry) as { value: string });
      let sum = 0;
      for (let i = 0; i < count; i++) {
        if (i < recorded.length) sum += JSON.parse(recorded[i]!.value)[0] + 1;
        else {
          sum += await work(i);
          await client.query({ ...insert, values: [id, i, row(i)] });
        }
      }
      return sum;
    } finally {
      client.release();
    }
  };

  return engineOn({
    write,
    async count(id) {
      const { rows } = await pool.query("SELECT count(*)::int AS count FROM entries WHERE run = $1", [id]);
      return (rows[0] as { count: number }).count;
    },
  });
}
