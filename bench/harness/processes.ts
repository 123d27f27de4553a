/** Child processes: each measurement in one of its own, on the Node that the contender needs. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Contender } from "../contenders/contender.js";

/** What a child said last before it ended. */
export interface Ending {
  message: unknown;
  /** `SIGKILL`: it was killed, or killed itself. */
  signal: NodeJS.Signals | null;
  /** It was killed because its time was up. */
  late: boolean;
  /** The last lines of what it printed. */
  printed: string;
}

export async function inChild(
  contender: Contender,
  script: URL,
  order: unknown,
  milliseconds: number,
): Promise<Ending> {
  const child = spawn(nodeOf(contender), ["--no-warnings", fileURLToPath(script), JSON.stringify(order)], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const ending: Ending = { message: undefined, signal: null, late: false, printed: "" };
  child.on("message", (message) => {
    ending.message = message;
  });
  const listen = (stream: ChildProcess["stdout"]): void => {
    stream!.setEncoding("utf8").on("data", (text: string) => {
      ending.printed = (ending.printed + text).slice(-2_000);
    });
  };
  listen(child.stdout);
  listen(child.stderr);
  const timer = setTimeout(() => {
    ending.late = true;
    child.kill("SIGKILL");
  }, milliseconds);
  const [, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  clearTimeout(timer);
  return { ...ending, signal };
}

/** Path of the Node that the contender runs on. */
export function nodeOf({ node }: Contender): string {
  if (node === undefined || process.versions.node.startsWith(`${node}.`)) return process.execPath;
  const manifest = createRequire(import.meta.url).resolve(`node-${node}/package.json`);
  return join(dirname(manifest), "bin", "node");
}
