/** `stepmark answer`, `send`, `cancel`, `resume`, `retry` and `watch`, as npm installs the program. */
import { rmSync } from "node:fs";
import path from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Fixture, makeFixture } from "./fixture.js";
import type { Ended, Started } from "./program.js";

let app: Fixture;
const children = new Set<Started>();
beforeAll(() => {
  app = makeFixture("drive");
}, 120_000);
afterEach(() => {
  for (const name of ["open", "closed", "bodies.txt"]) rmSync(path.join(app.folder, name), { force: true });
  for (const { child } of children) child.kill("SIGKILL");
  children.clear();
});
afterAll(() => app.remove());

function start(...args: string[]): Started {
  const started = app.start(...args);
  children.add(started);
  return started;
}

const watch = (...args: string[]): Started => start(app.main, "watch", ...args);
const go = (...args: string[]): Ended => app.stepmark(...args, "--workflows", "dist/flows.js");
const types = (stdout: string): string[] =>
  stdout
    .trim()
    .split("\n")
    .map((line) => /\b(?:run|step|wait|child|timer|value|changed)\.\w+|\bpublished\b/.exec(line)![0]);
const statusOf = (id: string): unknown =>
  (JSON.parse(app.stepmark("show", id, "--json").stdout) as { status: string }).status;

describe("stepmark answer", () => {
  it("gives an answer, with which `stepmark resume` goes on", () => {
    app.begin("order", "a-1", { items: ["x"] });
    const waits = go("resume", "a-1");
    expect(waits).toMatchObject({ status: 3, stderr: expect.stringContaining("It waits for 1 answer: approve.") });
    expect(types(waits.stdout)).toEqual(["run.waiting"]);
    expect(app.stepmark("answer", "a-1", "approve", '{"by": "ann"}')).toMatchObject({
      status: 0,
      stdout: "a-1  approve  answered\n",
      stderr: expect.stringContaining("`stepmark resume a-1 --workflows MODULE`"),
    });
    const again = app.stepmark("answer", "a-1", "approve", "2");
    expect(again).toMatchObject({ status: 1, stderr: expect.stringContaining("[ANSWER]\nOn the command line:") });
    const { stdout, status } = go("resume", "a-1", "--values");
    expect(status).toBe(0);
    expect(types(stdout)).toEqual(["wait.answered", "run.completed"]);
    expect(stdout).toContain("ok: { by: 'ann' }");
    expect(go("resume", "a-1")).toMatchObject({
      status: 0,
      stdout: "",
      stderr: expect.stringContaining("is completed"),
    });
  });

  it("takes no value, numbers below zero, and values from stdin; and tells how a text is written", () => {
    app.begin("order", "a-2", { items: [] });
    expect(app.stepmark("answer", "a-2", "later", "--undefined").stdout).toBe(
      "a-2  later  kept until it is asked (open now: approve)\n",
    );
    expect(app.stepmark("answer", "a-2", "other", "--", "-5").status).toBe(0);
    expect(app.stepmark("answer", "a-2", "approve", "yes")).toMatchObject({
      status: 2,
      stderr: expect.stringContaining(`a text is written '"yes"'`),
    });
    expect(app.stepmark("answer", "a-2", "approve", "-").stderr).toContain("the value is no JSON");
    expect(app.stepmark("answer", "a-2", "approve", "1", "--undefined").status).toBe(2);
    expect(app.stepmark("answer", "a-2", "approve").status).toBe(2);
  });
});

describe("stepmark send", () => {
  it("gives messages to a stream, in order", () => {
    app.begin("chat", "s-1");
    for (const message of ['"one"', "[2]"]) expect(app.stepmark("send", "s-1", "notes", message).status).toBe(0);
    expect(app.stepmark("send", "s-1", "notes", "--undefined").stdout).toBe("s-1  notes  sent\n");
    const { stdout, status } = go("resume", "s-1", "--json");
    expect(status).toBe(0);
    const last = stdout.trim().split("\n").at(-1)!;
    expect(JSON.parse(last)).toMatchObject({ type: "run.completed", value: ["one", [2], null] });
    expect(app.stepmark("send", "s-1", "notes", "1").status).toBe(1);
  });

  it("gives a message once under a name, and so does `answer`", () => {
    app.begin("chat", "s-2");
    const send = (message: string, key: string) =>
      app.stepmark("send", "s-2", "notes", message, "--idempotency-key", key);
    expect([send('"one"', "evt_1").status, send('"one"', "evt_1").status]).toEqual([0, 0]);
    expect(send('"two"', "evt_1")).toMatchObject({ status: 1, stderr: expect.stringContaining("[ANSWER]") });
    expect(app.stepmark("send", "s-2", "notes", "--undefined").status).toBe(0);
    expect(JSON.parse(go("resume", "s-2", "--json").stdout.trim().split("\n").at(-1)!)).toMatchObject({
      value: ["one", null],
    });
    app.begin("order", "s-3", { items: [] });
    const answer = () => app.stepmark("answer", "s-3", "approve", "1", "--idempotency-key", "evt_1").status;
    expect([answer(), answer(), app.stepmark("answer", "s-3", "approve", "1").status]).toEqual([0, 0, 1]);
  });
});

describe("stepmark cancel", () => {
  it("ends runs for good, and says of others what they are", () => {
    app.begin("nap", "c-1");
    expect(app.stepmark("cancel", "c-1")).toMatchObject({ status: 0, stdout: "c-1  cancelled\n" });
    expect(app.stepmark("cancel", "c-1")).toMatchObject({ status: 0, stdout: "c-1  was cancelled before\n" });
    expect(go("resume", "c-1").status).toBe(4);
    app.begin("label", "c-2", "x");
    expect(app.stepmark("cancel", "c-2")).toMatchObject({
      status: 1,
      stderr: "c-2 is completed: there is nothing to cancel.\n",
    });
  });

  it("ends a run that a living process drives, which is told", async () => {
    const driver = start("dist/main.js", "slow", "c-3");
    await driver.says("body");
    expect(app.stepmark("cancel", "c-3")).toMatchObject({ status: 0, stdout: "c-3  cancelled\n" });
    expect(go("resume", "c-3").status).toBe(4);
    driver.child.kill("SIGKILL");
    await driver.ended;
  });
});

describe("stepmark resume and retry", () => {
  it("lead to the call whose record does not fit", () => {
    app.begin("unsteady", "u-1");
    const { status, stderr } = go("resume", "u-1");
    expect(status).toBe(1);
    expect(stderr).toMatch(/recorded \["signed by \d+"\], asked for \["signed by \d+"\]/);
    expect(stderr).toContain("The code is as it was, so what differs comes from outside the record");
    expect(stderr).toContain("`stepmark show u-1 --values` tells how the run came there.");
    const shown = app.stepmark("show", "u-1", "--values").stdout;
    expect(shown).toMatch(/sign +done .*does not fit/);
    expect(shown).toMatch(/never +unanswered .*orphan/);
  });

  it("run the failed step again, and nothing else", () => {
    app.write("closed", "");
    app.begin("order", "r-1", { items: ["a", "bb"] });
    expect(app.bodies()).toEqual(["charge", "a", "bb", "book a", "book bb", "book bb"]);
    const failed = go("resume", "r-1");
    expect(failed.status).toBe(1);
    expect(failed.stderr).toBe(
      "\nTypeError: no parcel for bb\n  caused by: Error: the depot is closed\n`stepmark show r-1 --values` tells how the run came there.\n",
    );
    expect(app.bodies().slice(6)).toEqual(["book bb", "book bb"]);
    rmSync(path.join(app.folder, "closed"));
    expect(go("retry", "r-1").status).toBe(3);
    expect(app.bodies().slice(8)).toEqual(["book bb", "label of a", "label of bb"]);
    expect(app.stepmark("show", "r-1").stdout).toMatch(/book +done .* failed 2 times before/);
  });

  it("take several runs, or all that failed with one code", () => {
    app.write("closed", "");
    for (const id of ["m-1", "m-2"]) app.begin("order", id, { items: ["bb"] });
    expect(go("resume", "--code", "RETIRED_SITE")).toMatchObject({
      status: 0,
      stderr: "No run has failed with RETIRED_SITE.\n",
    });
    const both = go("resume", "m-1", "m-2");
    expect(both.status).toBe(1);
    expect(both.stdout).toMatch(/^m-1:\n[\s\S]*run\.failed[\s\S]*\nm-2:\n[\s\S]*run\.failed/);
    for (const id of ["n-1", "n-2"]) app.begin("unsteady", id);
    for (const id of ["n-1", "n-2"]) expect(go("resume", id).status).toBe(1);
    const unsteady = go("resume", "--code", "REPLAY_MISMATCH");
    expect(unsteady.status).toBe(1);
    expect(unsteady.stdout).toMatch(/n-1:\n[\s\S]*\nn-2:\n/);
    expect(unsteady.stdout).not.toContain("m-1");
    rmSync(path.join(app.folder, "closed"));
    expect(go("retry", "m-1", "m-2").status).toBe(3);
    expect([statusOf("m-1"), statusOf("m-2")]).toEqual(["waiting", "waiting"]);
    expect(go("resume", "m-1", "--code", "X").stderr).toContain("--code takes the place of runs");
  });

  it("go on with what a killed process left, and a run that sleeps is left to its time", () => {
    app.write("open", "");
    expect(app.begin("slow", "r-2")).toBe("body\ncompleted");
    app.begin("nap", "r-3");
    const { stderr, status } = go("resume", "r-3");
    expect(status).toBe(3);
    expect(stderr).toMatch(/^It waits for a time, in 23 h 59 min: /);
  });

  it("leave a run to the living process that drives it, and take it when that is dead", async () => {
    const driver = start("dist/main.js", "slow", "r-4");
    await driver.says("body");
    for (const command of ["resume", "retry"]) {
      expect(go(command, "r-4")).toMatchObject({
        status: 6,
        stdout: "",
        stderr: expect.stringMatching(/\[RUN_OWNED\]\nOn the command line: `stepmark watch r-4` follows it\.\n$/),
      });
    }
    expect(app.stepmark("show", "r-4").stdout).toContain(`driven by process ${driver.child.pid} on `);
    driver.child.kill("SIGKILL");
    await driver.ended;
    app.write("open", "");
    const { stdout, status } = go("resume", "r-4");
    expect(status).toBe(0);
    expect(types(stdout.replace("body\n", ""))).toEqual(["step.completed", "run.completed"]);
    expect(app.bodies()).toEqual(["before"]);
  });

  it("give the run up when they are interrupted, and nothing is lost", async () => {
    const resumed = start("dist/main.js", "slow", "r-5");
    await resumed.says("body");
    resumed.child.kill("SIGKILL");
    await resumed.ended;
    const second = start(app.main, "resume", "r-5", "--workflows", "dist/flows.js");
    await second.says("body");
    second.child.kill("SIGINT");
    const { status, stderr } = await second.ended;
    expect({ status, stderr }).toEqual({ status: 130, stderr: expect.stringContaining("Given up.") });
    app.write("open", "");
    expect(go("resume", "r-5").status).toBe(0);
  });

  it("refuse code that was not transformed before it can fail the run", () => {
    app.begin("nap", "r-6");
    const refused = app.stepmark("resume", "r-6", "--workflows", "src/flows.js");
    expect(refused).toMatchObject({ status: 2, stderr: expect.stringContaining("holds no transformed code") });
    expect(statusOf("r-6")).toBe("waiting");
    expect(app.stepmark("resume", "r-6").stderr).toContain("--workflows has to name");
    expect(go("resume", "r-6", "--accept", "all").stderr).toContain('--accept takes "edits", not "all"');
    app.write("flows.ts", "export const x: number = 1;");
    const typescript = app.stepmark("resume", "r-6", "--workflows", "flows.ts");
    expect(typescript.status).toBe(2);
    expect(typescript.stderr).toMatch(/is nothing that Node .* can load|exports no workflow/);
  });
});

describe("a module that does more than export workflows", () => {
  const ofTheirOwn = "export the workflows from one that does nothing else";
  it.each([
    ["fails when it is loaded", 'throw new Error("no port");', "fails when it is loaded: no port"],
    ["awaits what nobody brings", "await new Promise(() => {});", "is never loaded to its end"],
  ])("and %s is told what it is for", (_, code, words) => {
    app.begin("nap", "x-1");
    app.write("dist/more.js", `export * from "./flows.js";\n${code}\n`);
    const { status, stderr } = app.stepmark("resume", "x-1", "--workflows", "dist/more.js");
    expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(words) });
    expect(stderr).toContain(ofTheirOwn);
    expect(statusOf("x-1")).toBe("waiting");
  });
});

describe("stepmark watch", () => {
  it("prints events as they come, until the run ends, and its exit code tells how", async () => {
    const driver = start("dist/main.js", "slow", "w-1");
    await driver.says("body");
    const watching = watch("w-1", "--values");
    await watching.says("slow/before");
    app.write("open", "");
    const { stdout, status, stderr } = await watching.ended;
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(types(stdout)).toEqual(["run.started", "step.completed", "step.completed", "run.completed"]);
    expect(stdout).toContain("'opened'");
  });

  it("stays while a run waits, and ends with it", async () => {
    app.begin("nap", "w-2");
    const watching = watch("w-2", "--json");
    await watching.says("run.waiting");
    app.stepmark("cancel", "w-2");
    const { stdout, status } = await watching.ended;
    expect(status).toBe(4);
    expect(types(stdout).at(-1)).toBe("run.cancelled");
  });

  it("says that nobody drives a run, and goes on when somebody does", async () => {
    const killed = start("dist/main.js", "slow", "w-3");
    await killed.says("body");
    killed.child.kill("SIGKILL");
    await killed.ended;
    const watching = watch("w-3", "--after", "1");
    app.write("open", "");
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(go("resume", "w-3").status).toBe(0);
    const { stdout, stderr, status } = await watching.ended;
    expect(status).toBe(0);
    expect(types(stdout)).toEqual(["step.completed", "run.completed"]);
    expect(stderr).toMatch(/^(Nobody drives this run: its process \d+ has ended\. `stepmark resume w-3 .*\n)?$/);
  });

  it("of a run that has failed ends with 1, and of none that is there too", () => {
    app.write("closed", "");
    app.begin("order", "w-4", { items: ["bb"] });
    expect(app.stepmark("watch", "w-4").status).toBe(1);
    expect(app.stepmark("watch", "none").stderr).toContain("[RUN_NOT_FOUND]");
  });
});
