/** What a run may only do inside a step is told where it stands outside of one (3xxx, B29), by binding and not by name. */
import { describe, expect, it } from "vitest";
import { told, toldIn, toldOf } from "./diagnose.js";

describe("outside a step", () => {
  it.each<[string, string[]]>([
    ["if (Date.now() > o.cutoff) return step(f);", ["3001 Date.now"]],
    ["await step(f, new Date());", ["3001 new Date()"]],
    ["await step(f, Date());", ["3001 Date"]],
    ["await step(f, performance.now());", ["3001 performance.now"]],
    ["await step(f, Temporal.Now.instant());", ["3001 Temporal.Now.instant"]],
    ["await step(f, process.hrtime.bigint());", ["3001 process.hrtime.bigint"]],
    ["await step(f, globalThis.Date.now());", ["3001 globalThis.Date.now"]],
    ['await step(f, Date["now"]());', ['3001 Date["now"]']],
    ["const { now: clock } = Date; await step(f, clock());", ["3001 clock"]],
    ["await step(f, Math.random());", ["3002 Math.random"]],
    ["await step({ key: crypto.randomUUID() }, f);", ["3002 crypto.randomUUID"]],
    ["await step(f, crypto.getRandomValues(new Uint8Array(8)));", ["3002 crypto.getRandomValues"]],
    ["if (process.env.FAST) await step(f);", ["3003 process.env"]],
    ["const { env } = process; if (env.FAST) await step(f);", ["3003 env"]],
    ["await new Promise((done) => setTimeout(done, 1)); await step(f);", ["3004 setTimeout"]],
    ["await Promise.race([step(f), new Promise((_, no) => setTimeout(no, 1))]);", ["3004 setTimeout"]],
    ["const r = await fetch(o.url); await step(f, await r.json());", ["3005 fetch"]],
    ["const s = new WebSocket(o.url); await step(f);", ["3005 new WebSocket(o.url)"]],
    ["items.map((item) => ({ item, at: Date.now() }));", ["3001 Date.now"]],
    ["const stamp = () => Date.now(); await step(f, stamp());", ["3001 Date.now"]],
    ["await step(f, items.map(Math.random));", ["3002 Math.random"]],
    ["const clock = Date.now.bind(Date); await step(f, clock());", ["3001 clock"]],
    ["class A { stamp() { return Date.now(); } } await step(f, new A().stamp());", ["3001 Date.now"]],
    ["const help = { stamp: () => Date.now() }; await step(f, help.stamp());", ["3001 Date.now"]],
  ])("%s", (statements, expected) => {
    expect(toldIn(statements)).toEqual(expected);
  });

  it.each<[string, string[]]>([
    ['import { randomUUID } from "node:crypto"; FLOW(randomUUID())', ["3002 randomUUID"]],
    ['import { randomUUID as id } from "crypto"; FLOW(id())', ["3002 id"]],
    ['import crypto from "node:crypto"; FLOW(crypto.randomBytes(8))', ["3002 crypto.randomBytes"]],
    ['import fs from "node:fs"; FLOW(fs.readFileSync("x"))', ["3005 fs.readFileSync"]],
    ['import * as fs from "fs/promises"; FLOW(await fs.readFile("x"))', ["3005 fs.readFile"]],
    ['import { readFile } from "node:fs/promises"; FLOW(await readFile("x"))', ["3005 readFile"]],
    ['const { readFile } = require("fs").promises; FLOW(await readFile("x"))', ["3005 readFile"]],
    ['import { setTimeout as pause } from "node:timers/promises"; FLOW(await pause(1))', ["3004 pause"]],
    ['import process from "node:process"; FLOW(process.env.X)', ["3003 process.env"]],
    ['import { env } from "node:process"; FLOW(env.X)', ["3003 env"]],
    ['import { exec } from "node:child_process"; FLOW(exec("x"))', ["3005 exec"]],
    [
      'import { promisify } from "node:util"; const pause = promisify(setTimeout); FLOW(await pause(1))',
      ["3004 pause"],
    ],
    ['import { v4 as id } from "uuid"; FLOW(id())', ["3002 id"]],
    ['import { nanoid } from "nanoid"; FLOW(nanoid())', ["3002 nanoid"]],
    ['import axios from "axios"; FLOW((await axios.get("x")).data)', ["3005 axios.get"]],
    ['import fetch from "node-fetch"; FLOW(await fetch("x"))', ["3005 fetch"]],
    ['import { Stepmark } from "stepmark"; const app = new Stepmark(); FLOW(await app.start(o))', ["3005 app.start"]],
    ['import { performance } from "node:perf_hooks"; FLOW(performance.now())', ["3001 performance.now"]],
  ])("%s", (module, expected) => {
    const flow = module.replace(/FLOW\((.*)\)$/, 'export const w = workflow("w", async () => { await step(f, $1); });');
    expect(toldOf(`declare const f: any;\n${flow}`)).toEqual(expected);
  });

  it("a function that leads to steps is a run's code, wherever it stands", () => {
    expect(toldOf("export async function pay() { await step(() => 1); return Date.now(); }")).toEqual([
      "3001 Date.now",
    ]);
    expect(
      toldOf("const inner = () => step(() => 1); export const pay = async () => [Date.now(), await inner()];"),
    ).toEqual(["3001 Date.now"]);
    expect(toldOf("export class A { async pay() { await step(() => 1); return Math.random(); } }")).toEqual([
      "3002 Math.random",
    ]);
    expect(
      toldOf(
        "export const crawl = async (xs: any[]) => { const t = Date.now(); await Promise.all(xs.map((x) => step(() => x))); return t; };",
      ),
    ).toEqual(["3001 Date.now"]);
    expect(toldOf('const run = async () => Date.now(); export const w = workflow("w", run);')).toEqual([
      "3001 Date.now",
    ]);
  });

  it("a helper that a run calls is one if it answers anything", () => {
    const flow = 'export const w = workflow("w", async () => { await step(() => 1, help()); });';
    expect(toldOf(`function help() { return Date.now(); } ${flow}`)).toEqual(["3001 Date.now"]);
    expect(toldOf(`function help() { other.log(Date.now()); } ${flow}`)).toEqual([]);
  });
});

describe("no false alarm", () => {
  it.each([
    "await step(() => Date.now());",
    "await step(async () => { const t = Date.now(); await fetch(o.url); return Math.random() + t; });",
    'await step("x", () => [process.env.X].map(() => Date.now()));',
    "const body = () => Date.now(); await step(body);",
    "const bodies = { stamp: () => Date.now() }; await step(bodies.stamp);",
    "await step(() => items.map(Math.random));",
    "o.use(Date.now);",
    "await step({ retries: 1 }, () => new Promise((done) => setTimeout(done, 1)));",
    "const t = await now(), r = await random(), u = await uuid(); await step(f, t, r, u);",
    "await sleep(new Date(Date.now() + 1000));",
    "await sleep(o.until - Date.now());",
    'await waitFor("x", { payload: { asked: new Date() } });',
    'await publish("progress", { at: Date.now() });',
    "console.log(new Date(), Math.random());",
    "await step(f, new Date(0), Date.UTC(2000), Date.parse(o.x));",
    "await step(f, Math.max(1, 2));",
    "const Date = o; await step(f, Date.now());",
    "const fetch = (x: any) => x; await step(f, fetch(1));",
    "const Math = { random: () => 4 }; await step(f, Math.random());",
    "const run = (setTimeout: any) => setTimeout(1); await step(f, run(o));",
    "await step(f, o.process.env, o.Date.now(), o.fetch());",
    "const { process } = o; await step(f, process.env);",
    "const x = { env: 1, fetch: 2 }; await step(f, x.env, x.fetch);",
  ])("%s", (statements) => {
    expect(toldIn(statements)).toEqual([]);
  });

  it.each([
    // Code beside workflows.
    'export const w = workflow("w", async () => { await step(() => 1); }); export const t = Date.now(); setTimeout(() => {}, 1);',
    'export async function main(app: any) { const t = Date.now(); await app.start(workflow("w", async () => { await step(() => 1); })); return process.env.X; }',
    "export const charge = async () => Date.now(); export const pay = () => step(charge);",
    'export const w = workflow("w", async () => { await step(charge); }); async function charge() { return help(); } function help() { return Math.random(); }',
    'it("x", async () => { const w = workflow("w", async () => { await step(() => 1); }); await fetch("x"); setTimeout(w as any, 1); }); declare const it: any;',
    'import { randomUUID } from "./mine"; export const w = workflow("w", async () => { await step(() => 1, randomUUID()); });',
    'import { readFile } from "fs-extra-mine"; export const w = workflow("w", async () => { await step(() => 1, readFile()); });',
    'import { createHash } from "node:crypto"; export const w = workflow("w", async () => { await step(() => 1, createHash("md5")); });',
    'import { isIP } from "node:net"; export const w = workflow("w", async () => { await step(() => 1, isIP("x")); });',
    'import { constants } from "node:fs"; export const w = workflow("w", async () => { await step(() => 1, constants.O_RDONLY); });',
  ])("%s", (module) => {
    expect(toldOf(module)).toEqual([]);
  });

  it("files that do not import the library are not looked at", () => {
    expect(told("const stepmark = 1; export const w = async () => Date.now() + stepmark;")).toEqual([]);
  });
});
