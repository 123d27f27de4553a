/** The diagnostics in an editor: TypeScript's own server loads the plugin by its name and answers with ours. */
import { type ChildProcess, spawn } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Project, Workshop } from "./project.js";

const workshop = new Workshop();
beforeAll(() => workshop.build(), 120_000);
afterAll(() => workshop.remove());

interface Message {
  type: string;
  command?: string;
  request_seq?: number;
  body?: unknown;
}

interface Told {
  start: { line: number; offset: number };
  text: string;
  code: number;
  category: string;
  source?: string;
}

/** A `tsserver` process, spoken to as editors do. */
class Server {
  private readonly process: ChildProcess;
  private readonly waiting = new Map<number, (message: Message) => void>();
  private seq = 0;
  private rest = "";

  constructor(project: Project, node: readonly string[] = []) {
    const script = project.path("node_modules/typescript/lib/tsserver.js");
    // As an editor does that uses the project's own TypeScript.
    const flags = ["--allowLocalPluginLoads", "--disableAutomaticTypingAcquisition"];
    this.process = spawn(process.execPath, [...node, script, ...flags], { cwd: project.folder });
    this.process.stdout!.setEncoding("utf8").on("data", (text: string) => this.read(text));
  }

  private read(text: string): void {
    this.rest += text;
    const lines = this.rest.split("\n");
    this.rest = lines.pop()!;
    for (const line of lines) {
      if (!line.startsWith("{")) continue;
      const message = JSON.parse(line) as Message;
      if (message.type === "response") this.waiting.get(message.request_seq!)?.(message);
    }
  }

  send(command: string, args: object): Promise<Message> {
    const seq = ++this.seq;
    this.process.stdin!.write(`${JSON.stringify({ seq, type: "request", command, arguments: args })}\n`);
    return new Promise((resolve) => this.waiting.set(seq, resolve));
  }

  async told(file: string): Promise<string[]> {
    const { body } = await this.send("semanticDiagnosticsSync", { file });
    return (body as Told[]).map(
      ({ start, code, category, source, text }) =>
        `${start.line}:${start.offset} ${category} ${source} ${code} ${text.split(".")[0]}`,
    );
  }

  end(): void {
    this.process.kill();
  }
}

const flow = `import { step, workflow } from "stepmark";
export const pay = workflow("pay", async (n: number) => {
  step(() => n);
  return Date.now();
});
`;

describe.each(["typescript", "typescript-5.9"])("tsserver of %s", (typescript) => {
  it("tells what the build tells, as the text is edited", async () => {
    const project = workshop.project(typescript, "ts-patch", typescript);
    project.configure({ diagnostics: { STEPMARK3001: "error" } });
    project.write("src/flow.ts", flow);
    const server = new Server(project);
    try {
      const file = project.path("src/flow.ts");
      void server.send("open", { file, fileContent: flow });
      const expected = [
        "3:3 warning stepmark 992001 Nobody awaits the promise of `step`",
        "4:10 error stepmark 993001 A workflow's code calls `Date",
      ];
      expect(await server.told(file)).toEqual(expected);
      const insert = { line: 3, offset: 3, endLine: 3, endOffset: 3, insertString: "await " };
      void server.send("change", { file, ...insert });
      expect(await server.told(file)).toEqual(expected.slice(1));
    } finally {
      server.end();
    }
  }, 60_000);
});

it("a Node that cannot require ES modules imports the plugin, and tells a little later", async () => {
  const project = workshop.project("imported");
  project.configure({});
  project.write("src/flow.ts", flow);
  const server = new Server(project, ["--no-experimental-require-module"]);
  try {
    const file = project.path("src/flow.ts");
    void server.send("open", { file, fileContent: flow });
    await expect.poll(() => server.told(file), { timeout: 20_000 }).toHaveLength(2);
  } finally {
    server.end();
  }
}, 60_000);
