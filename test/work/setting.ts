/** What each test of workers has: a schema of its own, apps and worker processes on it, and their end. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";
import { Pool } from "pg";
import { Stepmark, type StepmarkOptions, type WorkOptions } from "stepmark";
import { graphileQueue } from "stepmark/graphile";
import { postgresStore } from "stepmark/postgres";
import { expect } from "vitest";
import { newSchema, url } from "../postgres/database.js";
import { buildChild } from "../support/build-child.js";
import { live, workflows } from "./flow.js";
import { World } from "./world.js";

let program: Promise<string> | undefined;

export class Setting {
  readonly schema = newSchema();
  readonly pool = new Pool({ connectionString: url, max: 30 });
  readonly world = new World(this.pool, this.schema);
  private readonly apps: Stepmark[] = [];
  private readonly children: ChildProcess[] = [];

  static async make(): Promise<Setting> {
    const setting = new Setting();
    await setting.world.prepare();
    live(setting.world);
    return setting;
  }

  app(options: StepmarkOptions = {}): Stepmark {
    const { pool, schema } = this;
    const app = new Stepmark({
      store: postgresStore(pool, { schema }),
      queue: graphileQueue(pool, { schema }),
      workflows,
      ...options,
    });
    this.apps.push(app);
    return app;
  }

  /** A worker in a process of its own, once it takes runs. */
  async process(options: WorkOptions = {}): Promise<{ kill(): Promise<void>; child: ChildProcess }> {
    program ??= buildChild("test/work/process.ts");
    const args = [await program, this.schema, JSON.stringify(options)];
    const child = spawn(process.execPath, args, {
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...process.env, DATABASE_URL: url },
    });
    this.children.push(child);
    const ended = once(child, "close");
    await Promise.race([once(createInterface({ input: child.stdout }), "line"), ended]);
    return {
      child,
      async kill() {
        child.kill("SIGKILL");
        await ended;
      },
    };
  }

  /** Resolves when these notes have been made, in whatever order, among others. */
  async noted(...texts: string[]): Promise<void> {
    await expect.poll(() => this.world.notes()).toEqual(expect.arrayContaining(texts));
  }

  /** @param text in which `s.` leads to the store's schema, and `jobs.` to that of graphile-worker */
  async query<Row>(text: string, values: unknown[] = []): Promise<Row[]> {
    const located = text.replace(/\b(jobs|s)\./g, (_, place) => `${this.schema}${place === "jobs" ? "_jobs" : ""}.`);
    return (await this.pool.query(located, values)).rows as Row[];
  }

  async end(): Promise<void> {
    for (const child of this.children) child.kill("SIGKILL");
    await Promise.all(this.apps.map((app) => app.shutdown()));
    await this.pool.end();
  }
}
