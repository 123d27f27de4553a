/** Runs a scenario in real processes on one SQLite file, in a directory that is removed afterwards. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type OpenWaitInfo, Stepmark } from "stepmark";
import { sqliteStore } from "stepmark/sqlite";
import type { Outcome } from "./scenario.js";
import { notes } from "./work.js";

/** How a process ends itself with SIGKILL. */
export interface Kill {
  /**
   * Bodies end in this order and no others do; the process is killed when the last of these is recorded. The type of an
   * event stands for that event: what follows does not end before it.
   */
  ends?: readonly string[];
  /** The process is killed when this event arrives. */
  at?: "run.waiting";
  /** Leaves no time for further bodies to start. */
  atOnce?: boolean;
}

/** Gives `play` a new directory. */
export async function inProcesses<T>(id: string, play: (processes: Processes) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), "stepmark-sample-"));
  const processes = new Processes(id, directory);
  try {
    return await play(processes);
  } finally {
    await processes.killServers();
    await rm(directory, { recursive: true, force: true });
  }
}

const child = fileURLToPath(new URL("./child.js", import.meta.url));

/** How long a process may take, in milliseconds. */
const limit = 20_000;

export class Processes {
  /** The bodies that ran in each process. */
  readonly bodies: string[][] = [];
  /** The types of the events that arrived in each process. */
  readonly events: string[][] = [];

  private readonly servers = new Set<ChildProcess>();

  constructor(
    private readonly id: string,
    readonly directory: string,
  ) {}

  /** Starts the scenario's run in a new process, which ends with the result, or is killed. */
  start(kill?: Kill): Promise<unknown> {
    return this.process("start", kill);
  }

  /** Resumes the run in a new process, which ends with the result, or is killed. */
  resume(kill?: Kill): Promise<unknown> {
    return this.process("resume", kill);
  }

  /** Runs the scenario's script in a new process, which ends with what the script returns, or kills itself. */
  script({ killed = false } = {}): Promise<unknown> {
    return this.process("script", killed ? {} : undefined);
  }

  /** Starts the scenario's server in a new process. */
  async serve(): Promise<{ url: string; kill(): Promise<void> }> {
    const bodiesBefore = notes(this.directory).length;
    const started = spawn(process.execPath, [child, this.id, "serve", "null"], {
      cwd: this.directory,
      stdio: ["ignore", "pipe", "inherit"],
      timeout: limit,
      killSignal: "SIGKILL",
    });
    this.servers.add(started);
    const line = await createInterface({ input: started.stdout })[Symbol.asyncIterator]().next();
    if (line.done) throw new Error("A server ended before it listened");
    const { port, error } = JSON.parse(line.value) as { port?: number; error?: { message: string } };
    if (port === undefined) throw new Error(`A server did not start: ${error?.message}`);
    return {
      url: `http://127.0.0.1:${port}`,
      kill: async () => {
        await this.kill(started);
        this.bodies.push(notes(this.directory).slice(bodiesBefore));
      },
    };
  }

  async killServers(): Promise<void> {
    for (const server of this.servers) await this.kill(server);
  }

  private async kill(server: ChildProcess): Promise<void> {
    this.servers.delete(server);
    const closed = once(server, "close");
    if (server.kill("SIGKILL")) await closed;
  }

  /** Answers an open wait of the run, by its name or its replay key. */
  answer(nameOrKey: string, value: unknown): Promise<void> {
    return this.withApp((app) => app.answer("run", nameOrKey, value));
  }

  /** What the run asks people at the moment. */
  async questions(): Promise<OpenWaitInfo[]> {
    return (await this.withApp((app) => app.get("run"))).waits;
  }

  /** The replay keys in the run's journal. */
  async recordedKeys(): Promise<string[]> {
    const entries = await this.withApp((app) => app.entries("run"));
    return entries.map(({ key }) => key);
  }

  outcome(result: unknown): Outcome {
    return { result, bodies: this.bodies };
  }

  private async process(mode: "start" | "resume" | "script", kill?: Kill): Promise<unknown> {
    const bodiesBefore = notes(this.directory).length;
    const eventsBefore = this.allEvents().length;
    const end = await runChild(this.directory, [this.id, mode, JSON.stringify(kill ?? null)]);
    this.bodies.push(notes(this.directory).slice(bodiesBefore));
    this.events.push(this.allEvents().slice(eventsBefore));
    return kill ? checkKilled(end) : reported(end);
  }

  private allEvents(): string[] {
    const path = join(this.directory, "events.log");
    return existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : [];
  }

  private async withApp<T>(use: (app: Stepmark) => Promise<T>): Promise<T> {
    const store = sqliteStore(join(this.directory, ".stepmark/runs.db"));
    const app = new Stepmark({ store });
    try {
      return await use(app);
    } finally {
      await app.shutdown();
      await store.close();
    }
  }
}

interface End {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

function runChild(cwd: string, args: string[]): Promise<End> {
  return new Promise((resolve, reject) => {
    const started = spawn(process.execPath, [child, ...args], { cwd, stdio: ["ignore", "pipe", "pipe"] });
    let stdout = "";
    let stderr = "";
    started.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    started.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    const timer = setTimeout(() => {
      started.kill("SIGKILL");
      reject(new Error(`A process did not end within ${limit / 1000} s (${args[1]})\n${stderr}`));
    }, limit);
    started.on("error", reject);
    started.on("close", (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, stdout, stderr });
    });
  });
}

function checkKilled({ code, signal, stdout, stderr }: End): void {
  if (signal !== "SIGKILL")
    throw new Error(`A process ended (${code ?? signal}) before it was killed: ${stdout}${stderr}`);
}

/** What a process that came to its end has printed. */
function reported({ code, signal, stdout, stderr }: End): unknown {
  if (code !== 0) throw new Error(`A process ended with ${code ?? signal}: ${stderr}`);
  const { result, error } = JSON.parse(stdout) as { result?: unknown; error?: { name: string; message: string } };
  if (error !== undefined) throw Object.assign(new Error(error.message), { name: error.name });
  return result;
}
