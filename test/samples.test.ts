/** The samples, built and run as `npm run samples` does it, and the judge of their table. */
import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { asText, exitCode, judge, type Row } from "../samples/runner/table.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const main = fileURLToPath(new URL("../samples/dist/main.js", import.meta.url));
const run = promisify(execFile);

describe("the samples", () => {
  beforeAll(async () => {
    await run("npm", ["run", "--silent", "build"], { cwd: root });
    await run("npx", ["tspc", "-p", "samples"], { cwd: root });
  }, 120_000);

  it("end as expected, each in its row, from any folder", async () => {
    // Wrong rows make the command fail, and its output is what tells which.
    const { stdout } = await run(process.execPath, [main, "--json"], { cwd: tmpdir() }).catch((error) => error);
    const rows = JSON.parse(stdout) as Row[];
    expect(rows.filter(({ ok }) => !ok)).toEqual([]);
    expect(rows.map(({ scenario }) => scenario)).toEqual([
      ...["A1", "A2", "A3 crash", "A3 wait", "A4", "A6", "A8 sequential", "A8 concurrent"],
      ...["B1", "B1 stall", "B2", "B3 helper", "B3 equal", "B3 cut", "B4", "B5", "B6", "B7", "B8", "B9"],
      ...["C1 0 ms", "C1 1 ms", "C1 10 ms", "C2", "C2 limit"],
      ...["D1", "D2", "D3", "D4", "D5", "D6", "saga", "timeline"],
      ...["agent", "agent ai", "http"],
    ]);
  }, 120_000);

  it("run only the named scenarios, all rows of each", async () => {
    const { stdout } = await run(process.execPath, [main, "--json", "A2", "a8"]);
    expect((JSON.parse(stdout) as Row[]).map(({ scenario }) => scenario)).toEqual([
      "A2",
      "A8 sequential",
      "A8 concurrent",
    ]);
  }, 60_000);

  it("refuse a name that no scenario has", async () => {
    await expect(run(process.execPath, [main, "Z9"])).rejects.toMatchObject({ code: 2, stdout: "" });
  }, 60_000);
});

describe("the table", () => {
  const expected = { result: ["A", "B"], bodies: [["print a", "print b"], ["print b"]] };
  const scenario = { id: "X1", what: "two pages", expected };
  const right = judge(scenario, structuredClone(expected));

  it("calls a row right if result and bodies are as expected", () => {
    expect(right.ok).toBe(true);
    expect(exitCode([right])).toBe(0);
  });

  it.each([
    ["another result", { ...expected, result: ["A", "C"] }],
    [
      "a body that ran once more",
      {
        ...expected,
        bodies: [
          ["print a", "print b"],
          ["print a", "print b"],
        ],
      },
    ],
    ["a body that did not run", { ...expected, bodies: [["print a", "print b"], []] }],
    ["a scenario that broke off", { error: "A process did not end within 20 s" }],
  ])("calls a row wrong, and exits with 1, for %s", (_, got) => {
    const wrong = judge(scenario, got);
    expect(wrong.ok).toBe(false);
    expect(exitCode([right, wrong])).toBe(1);
  });

  it("does not call an empty table right", () => {
    expect(exitCode([])).toBe(1);
  });

  it("shows what was expected of a wrong row, and wraps long cells", () => {
    const text = asText([judge(scenario, { ...expected, bodies: [["print a"], []] })]);
    expect(text).toContain('["A", "B"]');
    expect(text.replace(/\s+/g, " ")).toContain("print a → none but");
    expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(120);
  });
});
