/** Processes of their own that use the library as it is built, to be killed. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export interface Child {
  process: ChildProcess;
  /** The next line that it prints; undefined when it has ended. */
  line(): Promise<string | undefined>;
  /** What it wrote to its error output, after it has ended. */
  ended(): Promise<{ code: number | null; errors: string }>;
}

export interface Stage {
  /** Starts a module with the library, the stores, `thisProcess`, `isDead` and `args` (the strings given) in scope. */
  start(source: string, ...args: string[]): Child;
  /** The same, with a limit on the size of the files that the process may write, in blocks of 512 bytes. */
  startLimited(blocks: number, source: string, ...args: string[]): Child;
  remove(): void;
}

/** Builds the stores for plain Node, within this package, so that its dependencies are found. */
export function stage(): Stage {
  const root = here("../../node_modules/.cache");
  mkdirSync(root, { recursive: true });
  const folder = mkdtempSync(join(root, "stores-"));
  buildSync({
    entryPoints: ["index.ts", "stores/sqlite.ts", "stores/postgres.ts", "stores/owner.ts"].map((path) =>
      here(`../../runtime/${path}`),
    ),
    outdir: folder,
    entryNames: "[name]",
    // One copy of what they share.
    splitting: true,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    external: ["pg"],
    platform: "node",
    format: "esm",
  });
  const children: ChildProcess[] = [];
  let scripts = 0;
  const write = (source: string): string => {
    const file = join(folder, `script${scripts++}.mjs`);
    writeFileSync(
      file,
      `import { Stepmark, step, waitFor, workflow } from "./index.mjs";
       import { sqliteStore } from "./sqlite.mjs";
       import { postgresStore } from "./postgres.mjs";
       import { thisProcess, isDead } from "./owner.mjs";
       const args = process.argv.slice(2);
       ${source}`,
    );
    return file;
  };
  const launch = (command: string, args: readonly string[]): Child => {
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });
    children.push(child);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    let errors = "";
    child.stderr.on("data", (part: Buffer) => {
      errors += part.toString();
    });
    const closed = once(child, "close");
    return {
      process: child,
      line: async () => (await lines.next()).value as string | undefined,
      ended: async () => ({ code: (await closed)[0] as number | null, errors }),
    };
  };
  return {
    start: (source, ...args) => launch(process.execPath, [write(source), ...args]),
    startLimited: (blocks, source, ...args) =>
      launch("sh", ["-c", `ulimit -f ${blocks}; exec "$0" "$@"`, process.execPath, write(source), ...args]),
    remove() {
      for (const child of children) child.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
