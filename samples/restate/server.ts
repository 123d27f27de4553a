/** A Restate server of its own, in a folder of its own, from the binary that the package of this platform holds. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";

export interface Server {
  ingress: string;
  admin: string;
  stop(): Promise<void>;
}

const packageName = `@restatedev/restate-server-${process.platform}-${process.arch}`;

/** Path of the server's program; undefined if the package is not installed. `RESTATE_SERVER` names another one. */
export function binary(): string | undefined {
  if (process.env.RESTATE_SERVER) return process.env.RESTATE_SERVER;
  try {
    const root = dirname(createRequire(import.meta.url).resolve(`${packageName}/package.json`));
    const path = join(root, "bin", "restate-server");
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

export const cure = `There is no Restate server here: \`npm install --no-save ${packageName}\`, or set RESTATE_SERVER to its path.`;

/** How long it may take to be ready, in milliseconds. */
const patience = 60_000;

export async function startServer(program: string, folder: string): Promise<Server> {
  const [ingressPort, adminPort, nodePort] = [await freePort(), await freePort(), await freePort()];
  const env = {
    ...process.env,
    RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingressPort}`,
    RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${adminPort}`,
    RESTATE_BIND_ADDRESS: `127.0.0.1:${nodePort}`,
    RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${nodePort}`,
    RESTATE_DISABLE_TELEMETRY: "true",
    RESTATE_DEFAULT_NUM_PARTITIONS: "1",
    DO_NOT_TRACK: "1",
  };
  const server = spawn(program, ["--base-dir", folder], { env, cwd: folder, stdio: ["ignore", "ignore", "ignore"] });
  const ended = new Promise<void>((resolve) => server.once("close", () => resolve()));
  const [ingress, admin] = [`http://127.0.0.1:${ingressPort}`, `http://127.0.0.1:${adminPort}`];
  const until = performance.now() + patience;
  const isUp = async (url: string): Promise<boolean> => (await fetch(url).catch(() => undefined))?.ok ?? false;
  while (!((await isUp(`${admin}/health`)) && (await isUp(`${ingress}/restate/health`)))) {
    if (server.exitCode !== null || performance.now() > until) throw new Error("The Restate server did not start");
    await delay(100);
  }
  return {
    ingress,
    admin,
    stop() {
      server.kill("SIGKILL");
      return ended;
    },
  };
}

/** Tells Restate where a service's bodies run. */
export async function register({ admin }: Server, port: number): Promise<void> {
  const response = await fetch(`${admin}/deployments`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ uri: `http://127.0.0.1:${port}`, force: true }),
  });
  if (!response.ok) throw new Error(`Restate did not take the service: ${response.status} ${await response.text()}`);
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
