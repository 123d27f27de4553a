/** `stepmark runs`, `show` and `events`, as npm installs the program. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Fixture, makeFixture } from "./fixture.js";

let app: Fixture;
beforeAll(async () => {
  app = makeFixture("look");
  expect(app.begin("order", "order-1", { items: ["a"] })).toBe("waiting");
  app.write("closed", "");
  expect(app.begin("order", "order-2", { items: ["a", "bb"] })).toBe("failed");
  expect(app.begin("nap", "nap-1")).toBe("waiting");
  expect(app.begin("label", "it's\u001b[31m red", "x")).toBe("completed");
  expect(app.begin("point", "point-1")).toBe("waiting");
  const killed = app.start("dist/main.js", "slow", "left-1");
  await killed.says("body");
  killed.child.kill("SIGKILL");
  await killed.ended;
}, 120_000);
afterAll(() => app.remove());

const lines = (text: string): string[] => text.trimEnd().split("\n");
/** Without what is another each time. */
const timeless = (text: string): string =>
  text
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, "TIME")
    .replace(/\d+(\.\d+)? (ms|s|min|h|d)\b( \d+ (s|min|h)\b)?/g, "N")
    .replace(/ {2,}/g, "  ");

describe("stepmark runs", () => {
  it("tells of each run how it stands and why, newest first", () => {
    const { stdout, status } = app.stepmark("runs");
    expect(status).toBe(0);
    expect(lines(timeless(stdout))).toEqual([
      expect.stringMatching(/^left-1 {2}slow {2}running {2}N ago {2}its process \d+ has ended: nobody drives it$/),
      "point-1  point  waiting  N ago  for never",
      "it's\\u001b[31m red  label  completed  N ago  after N",
      "nap-1  nap  waiting  N ago  due in N",
      "order-2  order  failed  N ago  TypeError: no parcel for bb",
      'order-1/order/label@"a"  label  completed  N ago  after N',
      "order-1  order  waiting  N ago  for approve",
    ]);
  });

  it("lists those that are asked for", () => {
    const ids = (...args: string[]): string[] => {
      const { stdout } = app.stepmark("runs", "--json", ...args);
      return stdout === "" ? [] : lines(stdout).map((line) => (JSON.parse(line) as { id: string }).id);
    };
    expect(ids("--status", "failed")).toEqual(["order-2"]);
    expect(ids("--status", "failed,waiting", "--workflow", "order")).toEqual(["order-2", "order-1"]);
    expect(ids("--status", "running", "--status", "failed", "--age", "1h")).toEqual(["left-1", "order-2"]);
    expect(ids("--age", "+1h")).toEqual([]);
    expect(ids("--oldest", "--workflow", "order")).toEqual(["order-1", "order-2"]);
    expect(ids("--oldest", "--age", "1h", "--limit", "2")).toEqual(["order-1", 'order-1/order/label@"a"']);
  });

  it("goes on after the last one of a page, with the same filters", () => {
    const first = app.stepmark("runs", "--limit", "3", "--age", "1h");
    expect(first.stderr).toBe("There are more: --after 'it'\\''s\\u001b[31m red' shows those that come next.\n");
    const ids = (...args: string[]): string[] =>
      lines(app.stepmark("runs", "--json", ...args).stdout).map((line) => (JSON.parse(line) as { id: string }).id);
    expect(ids("--after", "it's\u001b[31m red", "--limit", "2")).toEqual(["nap-1", "order-2"]);
    expect(ids("--after", "order-2", "--status", "waiting")).toEqual(["order-1"]);
    const gone = app.stepmark("runs", "--after", "nobody");
    expect([gone.status, gone.stderr]).toEqual([1, expect.stringContaining("[RUN_NOT_FOUND]")]);
  });

  it("says that there are more, and tells all as data", () => {
    const { stdout, stderr } = app.stepmark("runs", "--limit", "5", "--json");
    expect(stderr).toBe("There are more: --after order-2 shows those that come next.\n");
    const rows = lines(stdout).map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(rows).toHaveLength(5);
    expect(rows[0]).toMatchObject({ status: "running", driver: { alive: false, pid: expect.any(Number) } });
    expect(rows[4]).toMatchObject({ id: "order-2", error: { name: "TypeError", message: "no parcel for bb" } });
  });
});

describe("stepmark show", () => {
  it("shows the calls under their scopes, what is open, and how to answer", () => {
    const { stdout } = app.stepmark("show", "order-1");
    expect(lines(timeless(stdout))).toEqual([
      "order-1  order  waiting  begun TIME (N ago)  last changed N ago",
      "",
      "order",
      "├─ charge  done  N  src/flows.js:21",
      "├─ phase  published  src/flows.js:22",
      "├─ map()",
      "│  ├─ quote  done  N  src/flows.js:25",
      "│  └─ book  done  N  src/flows.js:26",
      '├─ label@"a"  done  N  src/flows.js:30  run order-1/order/label@"a"',
      "└─ approve  waits  src/flows.js:31",
      "",
      "Open waits",
      "  approve  since N  src/flows.js:31  order/approve",
      "  answer: stepmark answer order-1 approve JSON",
      "",
      "Child runs",
      '  order-1/order/label@"a"  completed  order/label@"a"',
      "",
      "Published",
      "  phase  'packing'",
    ]);
  });

  it("shows why a run has failed, where that comes from, and what helps", () => {
    const { stdout } = app.stepmark("show", "order-2", "--values");
    const shown = timeless(stdout);
    expect(shown).toContain("input  { items: [ 'a', 'bb' ] }");
    expect(shown).toContain("│  └─ book  done  N  src/flows.js:26\n│  'booked a'");
    expect(shown).toContain("└─ map()[1]\n  ├─ quote  done  N  src/flows.js:25");
    expect(shown).toContain("└─ book  failed  N  src/flows.js:26  2 attempts\n  TypeError: no parcel for bb");
    expect(shown).toContain(`Error
  TypeError: no parcel for bb
  caused by: Error: the depot is closed
  It comes from 1 failed call, which \`stepmark resume order-2 --workflows MODULE\` runs again:
  order/map()[1]/book
`);
  });

  it("says that nobody drives a run, and that a value cannot be read", () => {
    expect(app.stepmark("show", "left-1").stdout).toMatch(
      /\nNobody drives it: its process \d+ has ended\. `stepmark resume left-1 --workflows MODULE` goes on with it/,
    );
    const { stdout, status } = app.stepmark("show", "point-1", "--values");
    expect(status).toBe(0);
    expect(stdout).toContain("Point");
    expect(stdout).toContain("[DECODE]");
  });

  it("gives the journal, or all as data", () => {
    const entries = lines(app.stepmark("show", "order-1", "--entries").stdout).map(
      (line) => JSON.parse(line) as { seq: number },
    );
    expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, index) => index + 1));
    const data = JSON.parse(app.stepmark("show", "order-2", "--json").stdout) as { calls: object[] };
    expect(data).toMatchObject({
      status: "failed",
      input: { items: ["a", "bb"] },
      culprits: ["order/map()[1]/book"],
      error: { name: "TypeError" },
    });
    expect(data.calls.at(-1)).toMatchObject({ kind: "step", attempts: 2, at: "src/flows.js:26" });
  });

  it("takes an id of whatever signs, and prints none that could do something", () => {
    const { stdout } = app.stepmark("show", "it's\u001b[31m red");
    expect(stdout).toContain("it's\\u001b[31m red  label");
    expect(stdout).not.toContain("\u001b");
  });
});

describe("stepmark events", () => {
  it("prints what has happened, from a number on", () => {
    const { stdout } = app.stepmark("events", "order-2", "--after", "7");
    const shown = lines(timeless(stdout));
    expect(shown[0]).toMatch(/^TIME {2}#8 {2}step\./);
    expect(shown.at(-1)).toBe("TIME  run.failed  TypeError: no parcel for bb");
    expect(app.stepmark("events", "order-1", "--values").stdout).toMatch(
      /wait\.opened .*\{ parcels: \[ 'booked a' \] \}/,
    );
  });

  it("prints them as data, with their values", () => {
    const events = lines(app.stepmark("events", "order-1", "--json").stdout).map(
      (line) => JSON.parse(line) as Record<string, unknown>,
    );
    expect(events[0]).toMatchObject({ type: "run.started", workflow: "order" });
    expect(events.at(-1)).toMatchObject({ type: "wait.opened", name: "approve", value: { parcels: ["booked a"] } });
  });
});

describe("a command line about runs that makes no sense", () => {
  it.each([
    [["runs", "--status", "broken"], '--status takes "running", "waiting", "completed", "failed" or "cancelled"'],
    [["runs", "--limit", "many"], "--limit takes a whole number"],
    [["runs", "--age", "soon"], '--age takes a duration such as 2h or 30s, not "soon"'],
    [["prune", "--older-than", "2x"], '--older-than takes a duration such as 2h or 30s, not "2x"'],
    [["runs", "--store", "none.db"], "there is no store none.db"],
    [["show"], "one run has to be named"],
    [["show", "a", "b"], "one run has to be named"],
    [["events", "a", "--after", "-1"], "--after"],
  ])("%j ends with 2 and says why", (args, message) => {
    const { status, stderr } = app.stepmark(...args);
    expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(message) });
    expect(stderr).toContain(`Usage: stepmark ${args[0]}`);
  });

  it("and a run that is not there ends with 1, and says what lists them", () => {
    const { status, stderr } = app.stepmark("show", "none");
    expect(status).toBe(1);
    expect(stderr).toContain("[RUN_NOT_FOUND]\nOn the command line: `stepmark runs` lists");
  });
});
