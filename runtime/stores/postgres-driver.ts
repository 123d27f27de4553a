/** What the store needs of the package `pg`, and how texts get into Postgres and back as they were. */
import { createHash } from "node:crypto";
import { StoreError } from "../errors.js";
import { isNameFault } from "./postgres-faults.js";
import type { Row } from "./rows.js";

/** A statement as `pg` takes it. */
export interface PostgresQuery {
  text: string;
  /** Under which the connection's session keeps the statement, read and planned. */
  name?: string;
  // biome-ignore lint/suspicious/noExplicitAny: as `pg` declares it
  values?: any[];
  /** What makes values of a result's texts. */
  types?: { getTypeParser(...of: unknown[]): (text: string) => unknown };
}

/** What takes statements: a pool, or one connection of it. */
export interface PostgresSession {
  query(query: PostgresQuery): Promise<{ rows: unknown[] }>;
}

/** A connection that a pool lends. */
export interface PostgresClient extends PostgresSession {
  on(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
  /** @param error given for a connection that is not to be used again */
  release(error?: Error | boolean): void;
}

/** A `Pool` of the package `pg`, or what behaves like one. */
export interface PostgresPool extends PostgresSession {
  connect(): Promise<PostgresClient>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
}

/** A connection of its own, to listen. */
export interface PostgresListeningClient extends PostgresSession {
  connect(): Promise<unknown>;
  end(): Promise<void>;
  /** The process may end although it is open. */
  unref?(): void;
  on(event: "error" | "end", listener: (error?: Error) => void): unknown;
  on(event: "notification", listener: (message: { channel: string; payload?: string }) => void): unknown;
}

export interface PostgresPackage {
  Pool: new (options: object) => PostgresPool;
  Client: new (options: object) => PostgresListeningClient;
}

/**
 * Loads `pg`, which is not among stepmark's own dependencies.
 *
 * @throws StoreError
 */
export async function loadPackage(): Promise<PostgresPackage> {
  try {
    const loaded = (await import("pg")) as unknown as PostgresPackage & { default?: PostgresPackage };
    return loaded.default ?? loaded;
  } catch (cause) {
    throw new StoreError("The package pg cannot be loaded", { cause }, "Install it: `npm install pg`.");
  }
}

/** One statement with its values; all columns of the rows are text, whatever parsers the process has set. */
export async function ask(
  session: PostgresSession,
  text: string,
  values: readonly unknown[] = [],
  name?: string,
): Promise<Row[]> {
  const query: PostgresQuery = { text, types: asText };
  if (name !== undefined) query.name = name;
  // Without values it may be several statements.
  if (values.length > 0) query.values = values.map(storable);
  return (await session.query(query)).rows as Row[];
}

/**
 * Statements under names, which the server reads once for each connection. A pooler may give the next statement another
 * connection, where the name is unknown: nothing has been done then, and from then on statements go without.
 */
export class PreparedStatements {
  #areKept = true;
  /** By text. As another program on such a connection may have chosen the same, a name tells the whole text. */
  readonly #names = new Map<string, string>();

  async ask(session: PostgresSession, text: string, values: readonly unknown[]): Promise<Row[]> {
    if (this.#areKept) {
      try {
        return await ask(session, text, values, this.#nameOf(text));
      } catch (error) {
        if (!isNameFault(error)) throw error;
        this.#areKept = false;
      }
    }
    return ask(session, text, values);
  }

  #nameOf(text: string): string {
    let name = this.#names.get(text);
    if (name === undefined) {
      name = `stepmark_${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
      this.#names.set(text, name);
    }
    return name;
  }
}

const asText = { getTypeParser: () => original };

/** A name in a statement. */
export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A text in a statement, for those that take no parameters. */
export function quotedText(text: string): string {
  return `E'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}

/**
 * Postgres keeps no NUL and no half of a surrogate pair. They are kept as U+0001 and four hexadecimal digits, and so is
 * U+0001 itself; every other text as it is.
 */
export function storable(value: unknown): unknown {
  if (typeof value === "string") return isStorable(value) ? value : value.replace(unstorable, escaped);
  return Array.isArray(value) ? value.map(storable) : value;
}

/** The text of which `storable` made this. */
export function original(text: string): string {
  return text.includes(mark)
    ? text.replace(escapes, (_, digits) => String.fromCharCode(Number.parseInt(digits, 16)))
    : text;
}

const mark = "\u0001";
const unstorable = new RegExp(`[\0${mark}]|\\p{Surrogate}`, "gu");
const escapes = new RegExp(`${mark}([0-9a-f]{4})`, "g");

function escaped(character: string): string {
  return mark + character.charCodeAt(0).toString(16).padStart(4, "0");
}

// The library's types for this come with ES2024; Node 20 has it.
type WellFormed = string & { isWellFormed(): boolean };

function isStorable(text: string): boolean {
  return (text as WellFormed).isWellFormed() && !text.includes("\0") && !text.includes(mark);
}
