/** Bodies that wait for their own end. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";
import { beforeAll, describe, expect, it } from "vitest";
import { buildChild } from "../support/build-child.js";

let program = "";
const source = readFileSync(new URL("endless-flow.ts", import.meta.url), "utf8").split("\n");
const lineOf = (text: string): number => source.findIndex((line) => line.includes(text)) + 1;

function run(name: string): { told: { message?: string; status?: string } | string; stderr: string } {
  const { stdout, stderr } = spawnSync(process.execPath, [program, name], { encoding: "utf8", timeout: 15_000 });
  return { told: stdout === "" ? "" : JSON.parse(stdout), stderr };
}

beforeAll(async () => {
  program = await buildChild("test/adversarial/endless-process.ts");
});

describe("a process with nothing left to do", () => {
  it.each([
    ["itself", "the body of `step`", "async () => own"],
    ["eachOther", "the bodies of `one`", '"one"'],
    ["theirList", "the bodies of `each`", '"each"'],
    ["nobody", "the body of `Promise`", "new Promise(() => {})"],
  ])("calls a run stalled whose bodies wait for %s, and names them", (name, bodies, place) => {
    const { told, stderr } = run(name);
    expect(told).toMatchObject({ status: "stalled", message: expect.stringMatching(/\[STALLED\]$/) });
    const { message } = told as { message: string };
    expect(message).toContain(`${bodies} (test/adversarial/endless-flow.ts:${lineOf(place)})`);
    expect(message).toContain("one that waits for the promise of its own step");
    expect(stderr).toBe("");
  });

  it("says of one that an answer would bring on that its result is awaited", () => {
    expect(run("answered")).toMatchObject({ told: "", stderr: expect.stringContaining("[RESULT_PENDING]") });
  });

  it("says nothing of one whose body ends", () => {
    expect(run("raw")).toEqual({ told: "done", stderr: "" });
  });
});
