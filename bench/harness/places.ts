/** Folders and databases that are there for one measurement. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { Client } from "pg";
import type { Contender, Durability, Place } from "../contenders/contender.js";

let databases = 0;

export interface TakenPlace extends Place {
  remove(): Promise<void>;
}

/** @param server address of a Postgres server, for contenders that keep their runs there */
export async function takePlace(
  contender: Contender,
  durability: Durability,
  server: string | undefined,
): Promise<TakenPlace> {
  const folder = mkdtempSync(join(tmpdir(), "stepmark-bench-"));
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  if (contender.startServer !== undefined) {
    const { address, stop } = await contender.startServer(folder, durability);
    return { folder, database: undefined, address, durability, remove: () => stop().then(removeFolder) };
  }
  if (contender.store !== "Postgres") {
    return { folder, database: undefined, durability, remove: async () => removeFolder() };
  }
  const name = `bench_${process.pid}_${databases++}`;
  await onServer(server!, `CREATE DATABASE ${name}`);
  await onServer(server!, `ALTER DATABASE ${name} SET synchronous_commit = ${durability === "power" ? "on" : "off"}`);
  const database = new URL(server!);
  database.pathname = name;
  return {
    folder,
    database: database.href,
    durability,
    async remove() {
      removeFolder();
      await onServer(server!, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

/** @returns the server's version */
export async function serverVersion(server: string): Promise<string> {
  const { rows } = await onServer(server, "SHOW server_version");
  return (rows[0] as { server_version: string }).server_version.split(" ")[0]!;
}

async function onServer(server: string, sql: string): Promise<{ rows: unknown[] }> {
  const client = new Client(server);
  await client.connect();
  try {
    return await client.query(sql);
  } finally {
    await client.end();
  }
}
