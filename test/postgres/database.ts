/** The database that the tests have been given, and schemas of it that are removed when all tests are over. */
import process from "node:process";
import { Client } from "pg";

const given = process.env.DATABASE_URL;
if (given === undefined) throw new Error("These tests need Postgres: `npm run test:postgres` starts it.");

export const url = given;

let schemas = 0;

/** A name that no other test has. */
export function newSchema(): string {
  return `${newSchema.prefix}${process.pid}_${schemas++}`;
}
newSchema.prefix = "stepmark_test_";

/** Removes what tests have left, unless the whole server is about to go. */
export async function removeSchemas(): Promise<void> {
  if (process.env.DATABASE_IS_THROWN_AWAY !== undefined) return;
  const client = new Client(url);
  await client.connect();
  const { rows } = await client.query(
    "SELECT quote_ident(nspname) AS name FROM pg_namespace WHERE starts_with(nspname, $1)",
    [newSchema.prefix],
  );
  // One by one: a transaction has only so many locks.
  for (const { name } of rows as Array<{ name: string }>) await client.query(`DROP SCHEMA ${name} CASCADE`);
  await client.end();
}
