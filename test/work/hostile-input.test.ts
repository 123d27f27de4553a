/** What an attacker may choose never becomes a part of a statement of the queue. */
import { Pool } from "pg";
import { InvalidArgumentError, Stepmark, step, workflow } from "stepmark";
import { graphileQueue } from "stepmark/graphile";
import { postgresStore } from "stepmark/postgres";
import { afterAll, beforeAll, expect, it } from "vitest";
import { newSchema, removeSchemas, url } from "../postgres/database.js";

const pool = new Pool({ connectionString: url, max: 20 });
/** A table that a statement smuggled in would drop. */
const bait = newSchema();

beforeAll(() => pool.query(`CREATE SCHEMA ${bait}; CREATE TABLE ${bait}.t AS SELECT 1`));
afterAll(async () => {
  await removeSchemas();
  await pool.end();
});

it.each([`"; DROP TABLE ${bait}.t; --`, `'; DROP TABLE ${bait}.t; --`, `\\'$$; DROP TABLE ${bait}.t; $$`])(
  "%j as a schema, an id, a workflow's name, a key, a cron's name is a text",
  async (attack) => {
    const schema = `${newSchema()}${attack}`.slice(0, 60);
    const flow = workflow(attack, async (input: string) => step(async () => input));
    expect(() => graphileQueue(pool, { schema })).toThrow(InvalidArgumentError);
    const queue = graphileQueue(pool, { schema, jobs: newSchema() });
    const app = new Stepmark({ store: postgresStore(pool, { schema }), queue, workflows: [flow] });
    await app.work({
      interval: 50,
      limits: { [attack]: { perKey: { key: (input: string) => input, concurrency: 1 } } },
      crons: [{ schedule: "0 0 1 1 *", workflow: flow, name: attack, input: attack }],
    });
    const run = await app.enqueue(flow, attack, { id: attack });
    expect(await run.result()).toBe(attack);
    await expect(app.enqueue(flow, attack, { id: "x", session: attack as never })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    await app.shutdown();
    expect((await pool.query(`SELECT * FROM ${bait}.t`)).rows).toHaveLength(1);
  },
);
