/** PgBouncer in front of a server, with a connection of the server's for each transaction. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { freePort, unprivileged } from "./server.js";

export interface Pooler {
  url: string;
  remove(): Promise<void>;
}

/** Where PgBouncer is; undefined if the machine has none. */
export function pooler(): string | undefined {
  try {
    const path = `${process.env.PATH}:/usr/sbin`;
    return execFileSync("sh", ["-c", "command -v pgbouncer"], { env: { PATH: path }, encoding: "utf8" }).trim();
  } catch {
    return undefined;
  }
}

/** @param to the server's address */
export async function startPooler(program: string, to: string): Promise<Pooler> {
  const folder = mkdtempSync(join(tmpdir(), "stepmark-pooler-"));
  const target = new URL(to);
  const port = await freePort();
  const user = decodeURIComponent(target.username);
  const password = decodeURIComponent(target.password);
  writeFileSync(join(folder, "users"), `"${user}" "${password}"\n`);
  writeFileSync(
    join(folder, "pgbouncer.ini"),
    `[databases]
     * = host=${target.hostname} port=${target.port || 5432} user=${user}${password && ` password=${password}`}
     [pgbouncer]
     listen_addr = 127.0.0.1
     listen_port = ${port}
     unix_socket_dir =
     auth_type = any
     auth_file = ${join(folder, "users")}
     pool_mode = transaction
     default_pool_size = 3
     server_reset_query =
     logfile =
     pidfile = ${join(folder, "pid")}
    `.replace(/^ +/gm, ""),
  );
  const account = unprivileged();
  if (account)
    for (const path of ["", "users", "pgbouncer.ini"]) chownSync(join(folder, path), account.uid, account.gid);
  // A shell that ends it when this process has ended, however that came about.
  const watchdog = '"$@" & pooler=$!; cat > /dev/null; kill -INT $pooler 2> /dev/null; wait $pooler';
  const running = spawn("sh", ["-c", watchdog, "sh", program, join(folder, "pgbouncer.ini")], {
    ...account,
    stdio: ["pipe", "ignore", "pipe"],
  });
  const closed = once(running, "close");
  const log: string[] = [];
  let up = false;
  for await (const line of createInterface({ input: running.stderr })) {
    log.push(line);
    up = line.includes("process up");
    if (up) break;
  }
  if (!up) throw new Error(`PgBouncer did not start:\n${log.join("\n")}`);
  running.stderr.resume();
  const url = new URL(to);
  url.hostname = "127.0.0.1";
  url.port = String(port);
  return {
    url: url.href,
    async remove() {
      running.stdin.end();
      await closed;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
