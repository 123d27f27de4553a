/**
 * `node with-server.js [--durable] COMMAND ...`: runs a command with `DATABASE_URL` set to a Postgres server that is there for it alone.
 * Where `DATABASE_URL` is set already, the command is run on that.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { binaries, startServer } from "./server.js";

const args = process.argv.slice(2);
const durable = args[0] === "--durable";
const [command, ...rest] = durable ? args.slice(1) : args;
const env = { ...process.env };
let remove = async (): Promise<void> => {};
if (env.DATABASE_URL === undefined) {
  if (binaries() === undefined) {
    console.error(
      "There is no Postgres here: install its server (Debian: apt-get install postgresql), or set DATABASE_URL.",
    );
    process.exit(2);
  }
  ({ url: env.DATABASE_URL, remove } = await startServer({ durable }));
  env.DATABASE_IS_THROWN_AWAY = "yes";
}
// Whoever interrupts this interrupts the command, which then ends, and the server after it.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => {});
const child = spawn(command!, rest, { stdio: "inherit", env });
const [code] = (await once(child, "close")) as [number | null];
await remove();
process.exit(code ?? 1);
