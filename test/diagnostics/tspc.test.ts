/** Diagnostics in the output of `tspc`, and incremental builds, with both pairs of ts-patch and TypeScript that we support. */
import { readFileSync, utimesSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Project, Workshop } from "./project.js";

const workshop = new Workshop();
beforeAll(() => workshop.build(), 120_000);
afterAll(() => workshop.remove());

const flow = `import { step, workflow } from "stepmark";
const charge = async (n: number) => n;
export const pay = workflow("pay", async (n: number) => {
  step(charge, n);
  return step(charge, Date.now());
});
`;
const other = `export async function pool<T>(run: () => Promise<T>) { return [await run(), await run()]; }
`;

describe.each([
  ["ts-patch", "typescript"],
  ["ts-patch-3", "typescript-5.9"],
])("%s with %s", (patch, typescript) => {
  const made = (name: string): Project => {
    const project = workshop.project(`${patch}-${name}`, patch, typescript);
    project.write("src/flow.ts", flow);
    project.write("src/other.ts", other);
    return project;
  };
  const emitted = (text: string): string[] =>
    [...text.matchAll(/TSFILE: .*\/([\w.]+\.js)$/gm)].map(([, name]) => name!);

  it("warnings are printed and do not fail the build, errors do, and `off` is silent", () => {
    const project = made("levels");
    project.configure({});
    const warned = project.tspc("-p", ".");
    expect(warned.text).toContain("src/flow.ts(4,3): warning STEPMARK2001: Nobody awaits the promise of `step`");
    expect(warned.text).toContain("src/flow.ts(5,23): warning STEPMARK3001: ");
    expect(warned.text.match(/warning/g)).toHaveLength(2);
    expect(warned.status).toBe(0);

    project.configure({ diagnostics: { default: "error", STEPMARK3001: "warn" } });
    const failed = project.tspc("-p", ".");
    expect(failed.text).toContain("src/flow.ts(4,3): error TS992001: Nobody awaits the promise of `step`");
    expect(failed.text).toContain("[STEPMARK2001]");
    expect(failed.text).toContain("src/flow.ts(5,23): warning STEPMARK3001: ");
    expect(failed.status).not.toBe(0);

    project.configure({ diagnostics: "off" });
    expect(project.tspc("-p", ".")).toEqual({ status: 0, text: "" });

    project.configure({ diagnostics: { STEPMARK9999: "off" } });
    expect(project.tspc("-p", ".").text).toContain("which is no code");
  }, 120_000);

  it("as a plugin for the program: errors come before anything is written", () => {
    const project = made("program");
    project.configure({ transformProgram: true, diagnostics: "error" }, { noEmitOnError: true });
    const failed = project.tspc("-p", ".", "--listEmittedFiles");
    expect(failed.text).toContain("error TS992001");
    expect(failed.status).not.toBe(0);
    expect(emitted(failed.text)).toEqual([]);
    project.configure({ transformProgram: true });
    const warned = project.tspc("-p", ".");
    expect(warned.text.match(/warning STEPMARK/g)).toHaveLength(2);
    expect(warned.status).toBe(0);
    expect(readFileSync(project.path("out/flow.js"), "utf8")).toContain("step.at(");
  }, 120_000);

  it("an incremental build without the program hook is told", () => {
    const project = made("plain");
    project.configure({ diagnostics: { default: "off", STEPMARK8001: "warn" } }, { incremental: true });
    const { text, status } = project.tspc("-p", ".");
    expect(text).toMatch(/^warning STEPMARK8001: .*"transformProgram": true/m);
    expect(status).toBe(0);
  }, 120_000);

  it("an incremental build re-emits what another option, version or compiler has left, and nothing else", () => {
    const project = made("incremental");
    const build = (plugin: object, ...args: string[]): ReturnType<Project["tspc"]> => {
      project.configure({ transformProgram: true, diagnostics: "off", ...plugin }, { incremental: true });
      return project.tspc(...(args.length > 0 ? args : ["-p", "."]), "--listEmittedFiles");
    };
    expect(emitted(build({}).text)).toEqual(["flow.js", "other.js"]);
    expect(emitted(build({}).text)).toEqual([]);
    expect(emitted(build({ include: ["src/other.ts"] }).text)).toEqual(["other.js"]);
    expect(emitted(build({ include: ["src/other.ts"] }).text)).toEqual([]);
    expect(emitted(build({}).text)).toEqual(["other.js"]);
    workshop.setVersion("1.0.1");
    expect(emitted(build({}).text)).toEqual(["flow.js"]);
    workshop.setVersion("1.0.0");

    build({});
    expect(emitted(project.tsc("-p", ".", "--listEmittedFiles").text)).toEqual(["flow.js"]);
    expect(readFileSync(project.path("out/flow.js"), "utf8")).not.toContain("step.at(");
    expect(emitted(build({}).text)).toEqual(["flow.js"]);
    expect(readFileSync(project.path("out/flow.js"), "utf8")).toContain("step.at(");

    // Errors stay, though nothing has changed since.
    for (let times = 0; times < 2; times++) {
      const { text, status } = build({ diagnostics: { default: "off", STEPMARK2001: "error" } });
      expect(text).toContain("error TS992001");
      expect(status).not.toBe(0);
    }
    expect(build({}).status).toBe(0);
  }, 240_000);

  it("so does `tspc -w`, which tells what is left", async () => {
    const project = made("watch");
    project.configure({ transformProgram: true, diagnostics: { STEPMARK3001: "off" } }, { incremental: true });
    const { round, end } = project.watch();
    try {
      const first = await round();
      expect(emitted(first)).toEqual(["flow.js", "other.js"]);
      expect(first).toContain("warning STEPMARK2001");
      project.write("src/flow.ts", flow.replace("  step(", "  await step("));
      const second = await round();
      expect(emitted(second)).toEqual(["flow.js"]);
      expect(second).not.toContain("warning");
      expect(readFileSync(project.path("out/flow.js"), "utf8").match(/await step\.at\(/g)).toHaveLength(1);
    } finally {
      end();
    }
  }, 60_000);

  it("so does `tspc -b`", () => {
    const project = made("build");
    const build = (plugin: object): ReturnType<Project["tspc"]> => {
      project.configure({ transformProgram: true, diagnostics: "off", ...plugin }, { composite: true });
      return project.tspc("-b", "--listEmittedFiles");
    };
    expect(emitted(build({}).text)).toEqual(["flow.js", "other.js"]);
    expect(emitted(build({}).text)).toEqual([]);
    expect(emitted(build({ include: ["src/other.ts"] }).text)).toEqual(["other.js"]);
    const later = new Date(Date.now() + 2000);
    utimesSync(project.path("src/flow.ts"), later, later);
    expect(emitted(build({ include: ["src/other.ts"] }).text)).toEqual([]);
    for (let times = 0; times < 2; times++) {
      const failed = build({ diagnostics: { default: "off", STEPMARK2001: "error" } });
      expect(failed.text).toContain("error TS992001");
      expect(failed.status).not.toBe(0);
    }
  }, 240_000);
});
