/** Its server, which outlives the processes whose runs it keeps. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import type { Durability } from "../contender.js";

/** Where it listens, and where it finds the process that goes on with runs. */
export interface Address {
  ingress: number;
  admin: number;
  endpoint: number;
}

function binary(): string | undefined {
  try {
    const package_ = `@restatedev/restate-server-${process.platform}-${process.arch}/package.json`;
    const path = join(dirname(createRequire(import.meta.url).resolve(package_)), "bin", "restate-server");
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

export const serverMissing = (): string | undefined =>
  binary() === undefined ? `its package has no server for ${process.platform} ${process.arch}` : undefined;

export async function startServer(
  folder: string,
  durability: Durability,
): Promise<{ address: string; stop(): Promise<void> }> {
  const [ingress, admin, endpoint, node] = await freePorts(4);
  const address: Address = { ingress: ingress!, admin: admin!, endpoint: endpoint! };
  const options = [
    "--node-name",
    "bench",
    "--bind-ip",
    "127.0.0.1",
    "--bind-port",
    String(node),
    "--listen-mode",
    "tcp",
  ];
  const server = spawn(binary()!, ["--base-dir", join(folder, "restate"), "--no-logo", ...options], {
    stdio: "ignore",
    env: {
      ...process.env,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      RESTATE_LOG_SERVER__ROCKSDB_DISABLE_WAL_FSYNC: String(durability === "process"),
      RUST_LOG: "off",
    },
  });
  const closed = once(server, "close");
  const endServer = (): void => {
    server.kill("SIGKILL");
  };
  process.once("exit", endServer);
  for (let tries = 0; !(await healthy(`http://127.0.0.1:${ingress}/restate/health`)); tries++) {
    if (tries === 300 || server.exitCode !== null) throw new Error("its server did not start");
    await delay(100);
  }
  return {
    address: JSON.stringify(address),
    async stop() {
      process.off("exit", endServer);
      endServer();
      await closed;
    },
  };
}

async function healthy(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

/** All at once, so that no two are the same. */
async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, "127.0.0.1");
      await once(server, "listening");
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
