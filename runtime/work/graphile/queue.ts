/** A queue in the database of the store, its jobs handed out by graphile-worker. */
import { randomUUID } from "node:crypto";
import { InvalidArgumentError, StepmarkError, StoreError } from "../../errors.js";
import { isolated } from "../../scope/outside.js";
import { postgresStore } from "../../stores/postgres.js";
import { type ConnectionOptions, type Connections, connectionsTo } from "../../stores/postgres-connections.js";
import {
  ask,
  type PostgresClient,
  type PostgresPool,
  type PostgresQuery,
  type PostgresSession,
} from "../../stores/postgres-driver.js";
import { cureOf, faultIn } from "../../stores/postgres-faults.js";
import { schemaOf, transaction } from "../../stores/postgres-schema.js";
import type { Row } from "../../stores/rows.js";
import type { Store } from "../../stores/store.js";
import type { Member, Membership, Order, Queue } from "../queue.js";
import { type GraphilePackage, loadGraphile } from "./driver.js";
import { join } from "./membership.js";
import { type Places, placesOf, prepareQueue, statementsOf } from "./schema.js";

export interface GraphileQueueOptions extends Pick<ConnectionOptions, "connections" | "timeout"> {
  /** The store's schema (default `stepmark`): the queue's own tables are made beside its tables. */
  schema?: string;
  /** The schema of graphile-worker's tables, of letters, digits and underscores (default: the store's, followed by `_jobs`). */
  jobs?: string;
}

/**
 * A queue for the runs of a `postgresStore`, in the same database: an address, or a pool of the package `pg`, which stays the
 * caller's to end. Needs the packages `pg` and `graphile-worker`. Nothing is connected before the queue is first used.
 *
 * @throws InvalidArgumentError for schemas that cannot be named so
 */
export function graphileQueue(
  where: string | PostgresPool,
  options: GraphileQueueOptions = {},
): Queue<PostgresSession> {
  return new GraphileQueue(where, options);
}

/** What an open queue works with. */
export interface Open {
  pool: PostgresPool;
  /** One statement. @throws StoreError */
  ask(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** A failure of the queue. */
  failure(cause: unknown): StepmarkError;
  /** Undefined for a pool that does not tell how its connections are made: then workers look from time to time. */
  listening: Connections["listening"];
  graphile: GraphilePackage;
  places: Places;
  statements: ReturnType<typeof statementsOf>;
}

class GraphileQueue implements Queue<PostgresSession> {
  private readonly places: Places;
  private opening: Promise<Open> | undefined;
  private ownPool: PostgresPool | undefined;

  constructor(
    private readonly where: string | PostgresPool,
    private readonly options: GraphileQueueOptions,
  ) {
    if (typeof where === "string" ? where === "" : typeof where?.connect !== "function") {
      throw new InvalidArgumentError("`graphileQueue` was given neither an address nor a pool", "Give it one of them.");
    }
    const store = schemaOf(options.schema ?? "stepmark");
    this.places = placesOf(store, jobsSchemaOf(options.jobs ?? `${store.name}_jobs`));
  }

  async put<T>(id: string, order: Order<PostgresSession>, create: (store: Store) => Promise<T>): Promise<T> {
    const { session } = order;
    if (session !== undefined && typeof session?.query !== "function") {
      const cure = "Give the connection of `pg` on which you have begun a transaction.";
      throw new InvalidArgumentError("`session` is no connection of `pg`", cure, { runId: id });
    }
    const { pool, statements } = await this.open();
    const cells = [id, order.priority, order.runAt ?? null, order.again ?? false];
    const within = async (transaction: PostgresSession): Promise<T> => {
      // A store whose every statement is a part of this transaction.
      const store = postgresStore(poolOf(transaction), { schema: this.places.store.name, listen: false });
      const made = await create(isolated(store));
      await ask(transaction, statements.put, cells);
      return made;
    };
    return this.told(id, () => (session ? within(session) : transaction(pool, within)));
  }

  async join(member: Member): Promise<Membership> {
    const open = await this.open();
    return this.told(undefined, () => join(open, randomUUID(), member));
  }

  async close(): Promise<void> {
    await this.opening?.catch(() => {});
    await this.ownPool?.end();
    this.ownPool = undefined;
    this.opening = undefined;
  }

  private open(): Promise<Open> {
    this.opening ??= this.told(undefined, () => this.connect()).catch((error) => {
      this.opening = undefined;
      throw error;
    });
    return this.opening;
  }

  private async connect(): Promise<Open> {
    const { where, options, places } = this;
    const graphile = await loadGraphile();
    const { pool, listening } = await connectionsTo(this.ownPool ?? where, options);
    if (typeof where === "string") this.ownPool = pool;
    outlive(pool);
    // The store's tables are made by the store, when it is first used.
    await postgresStore(pool, { schema: places.store.name, listen: false }).list({ limit: 0 });
    await migrate(graphile, pool, places.jobs);
    await prepareQueue(pool, places);
    return {
      ...{ pool, listening, graphile, places, statements: statementsOf(places) },
      ask: (text, values) => this.told(undefined, () => ask(pool, text, values)),
      failure: (cause) => this.failure(undefined, cause),
    };
  }

  private async told<T>(id: string | undefined, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      throw this.failure(id, cause);
    }
  }

  private failure(runId: string | undefined, cause: unknown): StepmarkError {
    if (cause instanceof StepmarkError) return cause;
    const what = `The queue (schema ${JSON.stringify(this.places.store.name)}) failed: ${faultIn(cause)}`;
    return new StoreError(what, { runId, cause }, cureOf(cause));
  }
}

/**
 * graphile-worker puts the name of its schema into its statements as it is.
 *
 * @throws InvalidArgumentError
 */
function jobsSchemaOf(name: string): string {
  if (/^\w+$/.test(name)) return schemaOf(name).name;
  throw new InvalidArgumentError(
    `graphile-worker's schema cannot be named ${JSON.stringify(name)}`,
    "Give `jobs` a name of letters, digits and underscores.",
  );
}

/** graphile-worker's own tables: several processes may make them at once, of which one succeeds. */
async function migrate(graphile: GraphilePackage, pool: PostgresPool, schema: string): Promise<void> {
  const logger = new graphile.Logger(() => () => {});
  for (let attempt = 1; ; attempt++) {
    try {
      return await graphile.runMigrations({ pgPool: pool, schema, logger });
    } catch (error) {
      if (attempt === 5) throw error;
    }
  }
}

const outliving = new WeakSet<PostgresPool>();

/** A connection that is lost while nobody uses it is made anew when somebody does: its end must not be the process's. */
function outlive(pool: PostgresPool): void {
  if (outliving.has(pool)) return;
  outliving.add(pool);
  const ignore = (): void => {};
  pool.on("error", ignore);
  const emitter = pool as unknown as { on(event: "connect", listener: (client: PostgresClient) => void): unknown };
  emitter.on("connect", (client) => void client.on("error", ignore));
}

/** A pool that has one connection, in a transaction that somebody else has begun and ends. */
function poolOf(session: PostgresSession): PostgresPool {
  const query = (statement: PostgresQuery): Promise<{ rows: unknown[] }> => session.query(statement);
  const client: PostgresClient = { query, on: () => {}, removeListener: () => {}, release: () => {} };
  return { ...client, connect: async () => client, end: async () => {} };
}
