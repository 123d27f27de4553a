/** What bodies leave behind, and what they wait for: tables that all processes of a test share. */
import { setTimeout } from "node:timers/promises";
import type { Pool } from "pg";

export class World {
  constructor(
    private readonly pool: Pool,
    private readonly schema: string,
  ) {}

  /** Makes the tables, once for all processes. */
  async prepare(): Promise<void> {
    await this.pool.query(`
      CREATE SCHEMA ${this.schema};
      CREATE TABLE ${this.schema}.notes (number serial PRIMARY KEY, text text NOT NULL, process integer NOT NULL);
      CREATE TABLE ${this.schema}.gates (name text PRIMARY KEY)`);
  }

  async note(text: string): Promise<void> {
    await this.pool.query(`INSERT INTO ${this.schema}.notes (text, process) VALUES ($1, $2)`, [text, process.pid]);
  }

  /** In the order in which they came. */
  async notes(): Promise<string[]> {
    const { rows } = await this.pool.query(`SELECT text FROM ${this.schema}.notes ORDER BY number`);
    return rows.map(({ text }) => text as string);
  }

  async open(...names: string[]): Promise<void> {
    await this.pool.query(`INSERT INTO ${this.schema}.gates SELECT unnest($1::text[])`, [names]);
  }

  /** Resolves when the gate is open. */
  async gate(name: string): Promise<void> {
    for (;;) {
      const { rows } = await this.pool.query(`SELECT FROM ${this.schema}.gates WHERE name = $1`, [name]);
      if (rows.length > 0) return;
      await setTimeout(10);
    }
  }
}
