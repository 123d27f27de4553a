/**
 * The statement that lists runs, for the stores in databases. A page is a range of an index, however far on it begins: of
 * several statuses each is a query of its own, which has no more to read than one.
 */
import type { Cell } from "./rows.js";
import type { ListFilter } from "./store.js";

/** How a database has it. */
export interface Dialect {
  /** The runs' table. */
  table: string;
  columns: string;
  /** What stands for a value, the `n`th of the statement from 1. */
  parameter(n: number, type: "text" | "time" | "number"): string;
  /** The limit of a list without one. */
  all: string;
  /** Whether the database goes through several queries at once in their order; if not, each is cut to what is wanted of all. */
  merges: boolean;
}

/** Where a run stands in a list of all. */
export interface Position {
  createdAt: Cell;
  number: Cell;
}

/** @param after the position of `filter.after` */
export function listQuery(
  { table, columns, parameter, all, merges }: Dialect,
  { status, workflow, unchangedSince, order = "newest", skip = 0, limit }: ListFilter,
  after: Position | undefined,
): { text: string; values: Cell[] } {
  const values: Cell[] = [];
  const value = (cell: Cell, type: Parameters<Dialect["parameter"]>[1]): string => parameter(values.push(cell), type);
  const [way, beyond] = order === "newest" ? ["DESC", "<"] : ["ASC", ">"];
  const inOrder = `ORDER BY created_at ${way}, number ${way}`;
  const statuses = status === undefined ? [undefined] : [...new Set([status].flat())];
  const parts = statuses.map((each) => {
    const conditions = [
      ...(each === undefined ? [] : [`status = ${value(each, "text")}`]),
      ...(workflow === undefined ? [] : [`workflow = ${value(workflow, "text")}`]),
      ...(unchangedSince === undefined ? [] : [`updated_at < ${value(unchangedSince, "time")}`]),
      ...(after === undefined
        ? []
        : [`(created_at, number) ${beyond} (${value(after.createdAt, "time")}, ${value(after.number, "number")})`]),
    ];
    const part = `SELECT ${columns} FROM ${table} ${conditions.length > 0 ? `WHERE ${conditions.join(" AND ")}` : ""}`;
    if (merges || limit === undefined || statuses.length === 1) return part;
    return `SELECT * FROM (${part} ${inOrder} LIMIT ${value(skip + limit, "number")}) AS part`;
  });
  const from = parts.length > 0 ? parts.join(" UNION ALL ") : `SELECT ${columns} FROM ${table} WHERE 1 = 0`;
  const most = limit === undefined ? all : value(limit, "number");
  const text = `${from} ${inOrder} LIMIT ${most} OFFSET ${value(skip, "number")}`;
  return { text, values };
}
