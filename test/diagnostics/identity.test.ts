/** Calls that cannot be given an identity are told (1xxx); calls that can are not. */
import { describe, expect, it } from "vitest";
import { told, toldIn, toldOf } from "./diagnose.js";

describe("uses of a step that are no plain call", () => {
  it.each<[string, string[]]>([
    ["await items.map(step)", ["1001 step"]],
    ["await Reflect.apply(step, null, [f])", ["1001 step"]],
    ["return { step }", ["1001 step"]],
    ["return { run: step }", ["1001 step"]],
    ["return [waitFor]", ["1001 waitFor"]],
    ["await step.call(null, f)", ["1002 step.call"]],
    ["await step.apply(null, [f])", ["1002 step.apply"]],
    ["await step.bind(null, f)()", ["1002 step.bind"]],
    ["await (step as any).call(null, f)", ["1002 (step as any).call"]],
    ["return new (step as any)(f)", ["1003 new (step as any)(f)"]],
    ["return (step as any)`x`", ["1003 (step as any)`x`"]],
    ["let s = step; return s(f)", ["1004 s"]],
    ["const s = o.x ? step : o.y; return s(f)", ["1004 step"]],
    ["const s = o.x ?? step; return s(f)", ["1004 step"]],
    ["o.run = step; return o.run(f)", ["1004 step"]],
    ["let s; s = step; return s(f)", ["1004 step"]],
    ["return (function (run = step) { return run(f); })()", ["1001 step"]],
    ["class A { step = step }", ["1001 step"]],
    ['eval("await step(f)")', ["1007 eval"]],
  ])("%s", (statements, expected) => {
    expect(toldIn(statements)).toEqual(expected);
  });

  it.each([
    "const s = step; return s(f)",
    "return (0, step)(f)",
    "return step!(f)",
    "return (step as any)(f)",
    "return step?.(f)",
    "return typeof step",
    "return step.name",
    "type T = typeof step; return await step(f)",
    "{ const step = f; o.run = step; }",
    "const run = (step: any) => [step]; await step(f, run)",
    "step: for (const item of items) { if (item) continue step; await o.step(item); }",
    'return (0, eval)("1")',
  ])("%s is fine", (statements) => {
    expect(toldIn(statements)).toEqual([]);
  });
});

describe("ways to the module that cannot be followed", () => {
  it.each<[string, string[]]>([
    ['import * as ns from "stepmark"; let wf = ns; export const f = () => wf.step(g);', ["1004 wf"]],
    ['const { step } = require("stepmark"); let wf = require("stepmark"); wf.step(step(g));', ["1004 wf"]],
    ['var { step, workflow } = require("stepmark"); export const f = () => step(g);', ["1004 step"]],
    ['let { step: s } = await import("stepmark"); export const f = () => s(g);', ["1004 s"]],
    ['import * as ns from "stepmark"; const { step = g } = ns; export const f = () => step(g);', ["1004 step"]],
    ['import * as ns from "stepmark"; export const f = (k: "step") => ns[k](g);', ["1004 ns[k]"]],
    ['export const f = () => import("stepmark").then((m) => m.step(g));', ['1005 import("stepmark").then']],
    ['export const f = () => import("stepmark").then(({ step }) => step(g));', ['1005 import("stepmark").then']],
    ['export const f = () => import("stepmark").then(({ sleep: z }) => z(1));', ['1005 import("stepmark").then']],
    ['import { step } from "stepmark"; function f(o) { with (o) { step(g); } }', ["1006 step"]],
    ['export { step } from "stepmark";', ["1008 step"]],
    ['export { workflow, sleep as pause } from "stepmark";', ["1008 sleep as pause"]],
    ['export * from "stepmark";', ['1008 export * from "stepmark";']],
    ['export * as wf from "stepmark";', ['1008 export * as wf from "stepmark";']],
    ['import { step } from "stepmark"; export { step };', ["1008 step"]],
    ['import { step } from "stepmark"; export default step;', ["1008 step"]],
  ])("%s", (module, expected) => {
    expect(told(module)).toEqual(expected);
  });

  it.each([
    'export const f = () => import("stepmark").then(({ Stepmark }) => new Stepmark());',
    'export const f = async () => { const { step } = await import("stepmark"); await step(g); };',
    'import { step } from "stepmark"; function f(o) { with (o) { g(); } }',
    'export { workflow } from "stepmark"; import { step } from "stepmark"; export const f = () => step(g);',
    'export type { Step } from "stepmark";',
    'export { type Step } from "stepmark";',
    'export * from "./stepmark";',
    "const step = (x) => x; export { step }; export const y = [step];",
    'import type { step } from "stepmark"; const x = [step];',
  ])("%s is fine", (module) => {
    expect(told(module)).toEqual([]);
  });

  it("code that has been transformed is told nothing", () => {
    expect(toldOf("export const f = (x: any) => [step.at(x, 1, 0, 0, x), step];")).toEqual([]);
  });
});
