/**
 * `node with-server.js [--durable] [--if-any] COMMAND ...`: runs a command with `DATABASE_URL` set to a Postgres server that is there for
 * it alone. Where `DATABASE_URL` is set already, the command is run on that. `--if-any`: where there is no Postgres, it is run without.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { binaries, startServer } from "./server.js";

const args = process.argv.slice(2);
const given = (option: string): boolean => args[0] === option && args.shift() !== undefined;
const durable = given("--durable");
const ifAny = given("--if-any");
const [command, ...rest] = args;
let url = process.env.DATABASE_URL;
let remove = async (): Promise<void> => {};
const isOwn = url === undefined && binaries() !== undefined;
if (isOwn) ({ url, remove } = await startServer({ durable }));
else if (url === undefined && !ifAny) {
  console.error(
    "There is no Postgres here: install its server (Debian: apt-get install postgresql), or set DATABASE_URL.",
  );
  process.exit(2);
}
// Whoever interrupts this interrupts the command, which then ends, and the server after it.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => {});
const child = spawn(command!, rest, {
  stdio: "inherit",
  env: {
    ...process.env,
    ...(url !== undefined && { DATABASE_URL: url }),
    ...(isOwn && { DATABASE_IS_THROWN_AWAY: "yes" }),
  },
});
const [code] = (await once(child, "close")) as [number | null];
await remove();
process.exit(code ?? 1);
