/** How a database is reached: a pool of connections, and one of its own to listen on. */
import { longestDelay } from "../clock.js";
import {
  loadPackage,
  type PostgresListeningClient,
  type PostgresPackage,
  type PostgresPool,
} from "./postgres-driver.js";

export interface ConnectionOptions {
  /** Most connections of the pool that is made for an address (default 10), besides the one that listens. */
  connections?: number;
  /**
   * Where to listen for what other processes tell: an address that leads to the server itself and not to a pooler of transactions
   * (default: the address where all else goes, or the pool's). `false`: nowhere.
   */
  listen?: string | false;
  /**
   * So long a statement may go without an answer, in milliseconds (default 60,000), before its connection counts as lost: a network
   * that swallows everything tells nobody. For an address; a pool has its own `query_timeout`.
   */
  timeout?: number;
}

export interface Connections {
  pool: PostgresPool;
  /** Makes a connection to listen on; undefined if that cannot be. */
  listening: (() => PostgresListeningClient) | undefined;
}

/** So long a connection may take to be made or to become free, in milliseconds. */
const patience = 15_000;

/** The default of `timeout`. */
const mostPatience = 60_000;

/** What the system is told of a connection on which nothing happens: after so many milliseconds, see whether it is alive. */
const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };

/**
 * @param where an address, or a pool, which is used as it is
 * @throws StoreError if the package `pg` is needed and cannot be loaded
 */
export async function connectionsTo(
  where: string | PostgresPool,
  { connections = 10, listen, timeout = mostPatience }: ConnectionOptions,
): Promise<Connections> {
  const settings = {
    fallback_application_name: "stepmark",
    connectionTimeoutMillis: Math.min(patience, timeout),
    query_timeout: Math.min(timeout, longestDelay),
    ...keepAlive,
  };
  const at = (address: string) => ({ ...settings, connectionString: address });
  let pool: PostgresPool;
  let listening: Connections["listening"];
  if (typeof where === "string") {
    const { Pool, Client } = await loadPackage();
    // A process that only keeps connections ready may end.
    pool = new Pool({ ...at(where), max: connections, allowExitOnIdle: true });
    listening = () => new Client(at(listen || where));
  } else {
    pool = where;
    if (typeof listen === "string") {
      const { Client } = await loadPackage();
      listening = () => new Client(at(listen));
    } else {
      // What the pool itself makes its connections of; a pool that does not tell cannot be listened on.
      const { Client, options } = where as PostgresPool &
        Partial<Pick<PostgresPackage, "Client">> & { options?: object };
      if (Client && options) listening = () => new Client({ ...settings, ...whole(options), ...keepAlive });
    }
  }
  return { pool, listening: listen === false ? undefined : listening };
}

/** A pool hides the password from those who print its options. */
function whole(options: object & { password?: unknown }): object {
  return { ...options, password: options.password };
}
