/** A project with the package as npm installs it, and its program run in it. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { installPackage } from "../hosts/project.js";

export interface Ended {
  stdout: string;
  stderr: string;
  status: number | null;
}

export interface Started {
  readonly child: ChildProcess;
  /** Resolves when stdout has brought the text. */
  says(wanted: string): Promise<void>;
  readonly ended: Promise<Ended>;
}

export interface Program {
  readonly folder: string;
  write(name: string, text: string): void;
  read(name: string): string;
  /** `stepmark ...`, without a terminal. */
  stepmark(...args: string[]): Ended;
  node(...args: string[]): Ended;
  /** As `stepmark`, without the rights of root, which nothing is read-only for. */
  asNobody(...args: string[]): Ended;
  start(...args: string[]): Started;
  readonly main: string;
  remove(): void;
}

export function installProgram(name: string): Program {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), `stepmark-${name}-`)));
  mkdirSync(path.join(folder, "node_modules"));
  installPackage(path.join(folder, "node_modules"));
  return programIn(folder, path.join(folder, "node_modules/stepmark/dist/cli/main.js"));
}

/** The same program in another folder. */
export function programIn(folder: string, main: string): Program {
  const env = { ...process.env, NO_COLOR: "1", FORCE_COLOR: undefined };
  const nodeAs = (user: { uid?: number; gid?: number }, args: string[]): Ended =>
    spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8", timeout: 60_000, env, input: "", ...user });
  const node = (...args: string[]): Ended => nodeAs({}, args);
  const nobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
  return {
    folder,
    main,
    write(name, content) {
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
      writeFileSync(path.join(folder, name), content);
    },
    read: (name) => readFileSync(path.join(folder, name), "utf8"),
    node,
    stepmark: (...args) => node(main, ...args),
    asNobody: (...args) => nodeAs(nobody, [main, ...args]),
    start(...args) {
      const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
      let said = "";
      const looks = new Set<() => void>();
      child.stdout.setEncoding("utf8").on("data", (piece: string) => {
        said += piece;
        for (const look of looks) look();
      });
      const stderr = text(child.stderr);
      return {
        child,
        says: (wanted) =>
          new Promise((resolve, reject) => {
            const look = (): void => {
              if (!said.includes(wanted)) return;
              looks.delete(look);
              resolve();
            };
            looks.add(look);
            look();
            child.once("exit", () => {
              look();
              reject(new Error(`It ended without saying ${wanted}; it said:\n${said}`));
            });
          }),
        ended: new Promise((resolve) => {
          child.once(
            "close",
            (status) => void stderr.then((errors) => resolve({ stdout: said, stderr: errors, status })),
          );
        }),
      };
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
