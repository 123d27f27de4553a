/** The processes of a storm: where one is killed, another one takes its place. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";
import type { Given } from "./process/given.js";

/** A place for one process at a time. */
export class Berth {
  /** Whether its process is at work. */
  ready = false;
  private child: ChildProcess | undefined;
  private stopped = false;
  private readonly ended: Promise<void>;

  /**
   * @param program path of the built program, which works until it is killed
   * @param unexpected gets what processes say that ended by themselves
   */
  constructor(
    private readonly program: string,
    private readonly name: string,
    private readonly given: Omit<Given, "STORM_MACHINE">,
    private readonly unexpected: string[],
  ) {
    this.ended = this.live();
  }

  kill(): void {
    this.ready = false;
    this.child?.kill("SIGKILL");
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.kill();
    await this.ended;
  }

  private async live(): Promise<void> {
    for (let count = 1; !this.stopped; count++) {
      const machine = `${this.name}.${count}`;
      // By this name the audit knows who writes.
      const url = new URL(this.given.STORM_URL);
      url.searchParams.set("application_name", machine);
      const given: Given = { ...this.given, STORM_URL: url.href, STORM_MACHINE: machine };
      const child = spawn(process.execPath, ["--enable-source-maps", this.program], {
        env: { ...process.env, ...given },
        stdio: ["ignore", "pipe", "pipe"],
      });
      this.child = child;
      let errors = "";
      child.stderr.on("data", (part: Buffer) => {
        errors += part.toString();
      });
      createInterface({ input: child.stdout }).once("line", () => {
        this.ready = true;
      });
      const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
      this.ready = false;
      if (signal !== "SIGKILL") this.unexpected.push(`${machine} ended by itself (${signal ?? code}): ${errors}`);
    }
  }
}
