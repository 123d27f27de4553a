/** A Postgres server for tests, made of the machine's own binaries in a folder of its own, and gone when the process is. */
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const execute = promisify(execFile);

export interface Server {
  /** Address of its database. */
  url: string;
  port: number;
  start(): Promise<void>;
  /** `fast`: it ends its connections and stops in order. `immediate`: it stops as in a crash, and recovers when it is started. */
  stop(mode: "fast" | "immediate"): Promise<void>;
  /** Stops it and removes all that it has written. */
  remove(): Promise<void>;
}

/** Where the machine has Postgres's server; undefined if it has none. */
export function binaries(): string | undefined {
  const packaged = "/usr/lib/postgresql";
  const versions = existsSync(packaged) ? readdirSync(packaged).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...versions.map((version) => join(packaged, version, "bin")),
    ...(process.env.PATH ?? "").split(delimiter),
  ];
  return folders.find((folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres")));
}

export interface ServerOptions {
  /** Whether what it acknowledges survives a loss of power, for measurements; tests need only what survives its own end. */
  durable?: boolean;
  settings?: Readonly<Record<string, string>>;
}

/** A server that runs. */
export async function startServer({ durable = false, settings = {} }: ServerOptions = {}): Promise<Server> {
  const bin = binaries();
  if (bin === undefined) throw new Error("There is no Postgres server on this machine");
  const account = unprivileged();
  const folder = mkdtempSync(join(tmpdir(), "stepmark-postgres-"));
  const data = join(folder, "data");
  mkdirSync(data);
  if (account) for (const path of [folder, data]) chownSync(path, account.uid, account.gid);
  const env = { ...process.env, LC_ALL: "C" };
  const run = async (program: string, ...args: string[]): Promise<void> => {
    await execute(join(bin, program), args, { ...account, cwd: folder, env });
  };
  await run("initdb", "-D", data, "-U", "stepmark", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync");
  const port = await freePort();
  const all: Record<string, string> = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: "200",
    fsync: durable ? "on" : "off",
    ...settings,
  };
  const args = [
    "-D",
    data,
    "-p",
    String(port),
    ...Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
  ];
  let running: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    // A shell that ends the server when this process has ended, however that came about.
    const watchdog = '"$@" & server=$!; cat > /dev/null; kill -QUIT $server 2> /dev/null; wait $server';
    const started = spawn("sh", ["-c", watchdog, "sh", join(bin, "postgres"), ...args], {
      ...account,
      cwd: folder,
      env,
      stdio: ["pipe", "ignore", "pipe"],
    });
    running = started;
    const log: string[] = [];
    // Nothing is read beyond what is waited for unless it flows.
    for await (const line of createInterface({ input: started.stderr! })) {
      log.push(line);
      if (line.includes("database system is ready to accept connections")) {
        started.stderr!.resume();
        return;
      }
    }
    throw new Error(`The Postgres server did not start:\n${log.join("\n")}`);
  };

  const stop = async (mode: "fast" | "immediate"): Promise<void> => {
    if (running === undefined) return;
    const ended = once(running, "close");
    await run("pg_ctl", "stop", "-D", data, "-m", mode, "-w", "-s");
    running.stdin!.end();
    await ended;
    running = undefined;
  };

  await start();
  return {
    url: `postgres://stepmark@127.0.0.1:${port}/postgres`,
    port,
    start,
    stop,
    async remove() {
      await stop("immediate");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Who runs what refuses to be run by root: the account that the package of Postgres makes, or nobody. */
export function unprivileged(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (what: "-u" | "-g"): number | undefined => {
    try {
      return Number(execFileSync("id", [what, "postgres"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
    } catch {
      return undefined;
    }
  };
  return { uid: id("-u") ?? 65_534, gid: id("-g") ?? 65_534 };
}

export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
