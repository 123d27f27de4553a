/**
 * `npm run samples:restate`: B4 and B6 with their bodies on Restate. For each number of saved outcomes, the driver kills itself with
 * SIGKILL instead of saving the next one, and a new process resumes the run. Then a run is cancelled while its body is at work there.
 * Exits with 1 unless each body has run exactly once, and that one was told to end.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { memoryStore, Stepmark, type StepmarkError } from "stepmark";
import { restateExecutor } from "stepmark/restate";
import { functions, holdOn } from "./flow.js";
import { binary, cure, register, type Server, startServer } from "./server.js";

const program = binary();
if (program === undefined) {
  console.error(cure);
  process.exit(2);
}

interface Play {
  id: string;
  workflow: string;
  items: string[];
  result: string[];
  /** Labels of the bodies of a run. */
  bodies: string[];
}

const pages = ["a", "b", "c", "d", "e"];
const images = ["1", "2", "3", "4", "5"];
const plays: Play[] = [
  {
    id: "B4",
    workflow: "publish-pages",
    items: pages,
    result: pages.map((page) => `<p>text of ${page}</p>`),
    bodies: pages.flatMap((page) => [`load ${page}`, `render ${page}`]),
  },
  {
    id: "B6",
    workflow: "shrink-images",
    items: images,
    result: images.map((image) => `small ${image}`),
    bodies: images.map((image) => `shrink ${image}`),
  },
];

const folder = mkdtempSync(join(tmpdir(), "stepmark-restate-"));
const bodies = join(folder, "bodies.log");
const env = { ...process.env, BODIES: bodies };
const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
let server: Server | undefined;
let endpoint: ChildProcess | undefined;
try {
  server = await startServer(program, folder);
  endpoint = spawn(process.execPath, [here("./endpoint.js")], { env, stdio: ["ignore", "pipe", "inherit"] });
  await register(server, await portOf(endpoint));
  for (const play of plays) for (let saved = 0; saved < play.bodies.length; saved++) await kill(play, saved, server);
  await cancel(server);
} finally {
  endpoint?.kill("SIGKILL");
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** What the SDK has to say comes before. */
async function portOf({ stdout }: ChildProcess): Promise<number> {
  for await (const line of createInterface({ input: stdout! })) {
    if (!/^\d+$/.test(line)) continue;
    stdout!.resume();
    return Number(line);
  }
  throw new Error("The process that runs the bodies has ended");
}

async function kill(play: Play, saved: number, { ingress }: Server): Promise<void> {
  const id = `${play.id}-${saved}`;
  const args = [here("./driver.js"), play.workflow, id, play.items.join(","), ingress];
  const died = await drive([...args, String(saved)]);
  const ended = await drive(args);
  const ran = noted(id);
  const faults = [
    died.signal === "SIGKILL" ? "" : "the first process was not killed",
    ended.stdout.trim() === JSON.stringify(play.result) ? "" : `the result is ${ended.stdout}${ended.stderr}`,
    ran.length === new Set(ran).size ? "" : "a body has run twice",
    [...ran].sort().join() === [...play.bodies].sort().join() ? "" : `the bodies that ran: ${ran.join(", ")}`,
  ].filter(Boolean);
  if (faults.length > 0) process.exitCode = 1;
  const fate = `killed with ${saved} of ${play.bodies.length} outcomes saved and the next one in hand`;
  const outcome = `${ran.length} bodies ran, ${ran.length - new Set(ran).size} of them twice`;
  console.log(`${faults.length === 0 ? "ok" : "WRONG"}  ${play.id}  ${fate}: ${faults.join("; ") || outcome}`);
}

/** The body is in another process, and hears of the cancellation from Restate. */
async function cancel({ ingress, admin }: Server): Promise<void> {
  const id = "cancelled";
  const app = new Stepmark({ store: memoryStore(), executor: restateExecutor({ ingress, admin, functions }) });
  const run = await app.start(holdOn, id, { id });
  const hasBegun = await isNoted(id, "begins");
  await app.cancel(id);
  const code = await run.result().then(
    () => "its output",
    (error: StepmarkError) => error.code,
  );
  const isTold = await isNoted(id, "is told to end");
  await app.shutdown();
  const isRight = hasBegun && code === "RUN_CANCELLED" && isTold;
  if (!isRight) process.exitCode = 1;
  const fate = `cancelled while its body is at work: the run ends with ${code}`;
  console.log(`${isRight ? "ok" : "WRONG"}  ${fate}, and the body ${isTold ? "was" : "was not"} told to end`);
}

/** Whether a body says so within half a minute. */
async function isNoted(run: string, what: string): Promise<boolean> {
  for (const until = performance.now() + 30_000; performance.now() < until; await delay(50))
    if (noted(run).includes(what)) return true;
  return false;
}

/** What has run of a run, in whatever process. */
function noted(run: string): string[] {
  const all = existsSync(bodies) ? readFileSync(bodies, "utf8").split("\n").slice(0, -1) : [];
  return all.filter((line) => line.startsWith(`${run} `)).map((line) => line.slice(run.length + 1));
}

interface End {
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

function drive(args: readonly string[]): Promise<End> {
  return new Promise((resolve) => {
    const options = { cwd: folder, env, timeout: 60_000 };
    const child = execFile(process.execPath, args, options, (_, stdout, stderr) =>
      resolve({ signal: child.signalCode, stdout, stderr }),
    );
  });
}
