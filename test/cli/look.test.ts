/** Colours, widths and words of the command line. */
import { describe, expect, it } from "vitest";
import { callsOf, treeOf } from "../../cli/call-tree.js";
import { helpOf } from "../../cli/help.js";
import { columnsOf, cut, lookOf, table, wrapped } from "../../cli/look.js";
import { errorLines, fromNow, lasted, quoted, visible } from "../../cli/words.js";
import type { Entry } from "../../runtime/journal/entry.js";

describe("colours", () => {
  const terminal = { isTTY: true, columns: 40 };
  it.each([
    [terminal, {}, true],
    [terminal, { NO_COLOR: "1" }, false],
    [terminal, { NO_COLOR: "" }, true],
    [terminal, { TERM: "dumb" }, false],
    [{}, {}, false],
    [{}, { FORCE_COLOR: "1" }, true],
    [{}, { FORCE_COLOR: "" }, true],
    [terminal, { FORCE_COLOR: "0" }, false],
    [{}, { FORCE_COLOR: "1", NO_COLOR: "1" }, true],
  ])("of %j under %j: %s", (stream, env, coloured) => {
    expect(lookOf(stream, env).paint("red", "x")).toBe(coloured ? "\u001b[31mx\u001b[39m" : "x");
  });

  it("lines are as wide as the terminal, and as long as they are in a pipe", () => {
    expect([lookOf(terminal, {}).width, lookOf({}, {}).width]).toEqual([40, undefined]);
    expect(cut("abcdef", undefined)).toBe("abcdef");
    expect(cut("abcdef", 4)).toBe("abc…");
    expect(cut("\u001b[31mabcdef\u001b[39m", 4)).toBe("\u001b[31mabc…\u001b[39m");
    expect(cut("日本語", 5)).toBe("日本…");
  });
});

describe("tables and paragraphs", () => {
  it("have their columns one below the other, whatever the signs and colours", () => {
    expect(table([["a", "日本", "x"], ["\u001b[31mbb\u001b[39m", "c", "y"], ["z"]])).toEqual([
      "a   日本  x",
      "\u001b[31mbb\u001b[39m  c     y",
      "z",
    ]);
    expect(columnsOf("\u001b[31m日\u001b[39m")).toBe(2);
  });

  it("are filled to the width, but for lines that begin with a blank", () => {
    expect(wrapped("one two three\nfour\n\n  as it is, however long\nfive", 9)).toBe(
      "one two\nthree\nfour\n\n  as it is, however long\nfive",
    );
  });
});

describe("words", () => {
  it.each([
    [0, "0 ms"],
    [999, "999 ms"],
    [1_234, "1.2 s"],
    [59_999, "59 s"],
    [60_000, "1 min"],
    [200_000, "3 min 20 s"],
    [3_600_000, "1 h"],
    [187_200_000, "2 d 4 h"],
  ])("%i ms are %s", (ms, words) => {
    expect(lasted(ms)).toBe(words);
  });

  it("tell times from now, and quote for the shell", () => {
    expect([fromNow(5_000, 0), fromNow(0, 60_000)]).toEqual(["in 5.0 s", "1 min ago"]);
    expect(["order-17", "a b", "it's", ""].map(quoted)).toEqual(["order-17", "'a b'", "'it'\\''s'", "''"]);
  });

  it("show signs that would do something", () => {
    expect(visible("a\nb\u001b[2J\u202e\u0000é日")).toBe("a\\nb\\u001b[2J\\u202e\\u0000é日");
  });

  it("tell an error with all that it holds, however it is made", () => {
    const error = new AggregateError([new TypeError("a"), "b"], "both", { cause: new Error("why") });
    expect(errorLines(error)).toEqual([
      "AggregateError: both",
      "  caused by: Error: why",
      "  with: TypeError: a",
      '  with: thrown: "b"',
    ]);
    const circular = new Error("round");
    circular.cause = circular;
    expect(errorLines(circular)).toEqual(["Error: round"]);
    expect(errorLines(undefined)).toEqual(["thrown: undefined"]);
  });
});

describe("the tree of calls", () => {
  const entry = (key: string, more: Partial<Entry> = {}): Entry => ({
    seq: 1,
    key,
    kind: "step",
    state: "done",
    value: "1",
    attempt: 1,
    startedAt: 0,
    endedAt: 5,
    ...more,
  });
  const spelt = (entries: Entry[]): string[] => {
    const lines: string[] = [];
    const visit = (nodes: ReturnType<typeof treeOf>, indent: string): void => {
      for (const { name, call, children } of nodes) {
        lines.push(`${indent}${name}${call ? ` ${call.state}` : ""}`);
        visit(children, `${indent}  `);
      }
    };
    visit(treeOf(callsOf(entries)), "");
    return lines;
  };

  it("has scopes above what they hold, and those that hold one thing in its line", () => {
    expect(spelt([entry("f/map()/a"), entry("f/map()[1]/g()/b"), entry("f/map()[1]/g()/c"), entry("f/d")])).toEqual([
      "f",
      "  map()/a done",
      "  map()[1]/g()",
      "    b done",
      "    c done",
      "  d done",
    ]);
  });

  it("has the steps inside a step below it, also where it has no outcome yet", () => {
    expect(spelt([entry("f/a/b"), entry("f/a/c", { state: "failed" })])).toEqual([
      "f",
      "  a",
      "    b done",
      "    c failed",
    ]);
    expect(spelt([entry("f/a/b"), entry("f/a")])).toEqual(["f", "  a done", "    b done"]);
  });

  it("shortens the digest of a key that was too long", () => {
    expect(spelt([entry(`#${"0123456789abcdef".repeat(2)}ail()/b`)])).toEqual(["…ail()", "  b done"]);
  });

  it("tells of each call what came last, and what had been before", () => {
    const calls = callsOf([
      entry("f/a", { state: "attempt", attempt: 1 }),
      entry("f/a", { state: "attempt", attempt: 2, startedAt: 7 }),
      entry("f/a", { state: "failed", attempt: 2, startedAt: 7, endedAt: 9 }),
      entry("f/w", { kind: "wait", state: "open", name: "w", due: 100 }),
      entry("f/w", { kind: "wait", state: "refused", name: "w" }),
      entry("f/a", { state: "attempt", attempt: 1, startedAt: 11 }),
      entry("f/t", { kind: "wait", state: "done", name: "t", timedOut: true }),
    ]);
    expect(calls).toMatchObject([
      { key: "f/a", state: "begun", attempts: 1, failures: 1, startedAt: 11, endedAt: undefined },
      { key: "f/w", state: "begun", refused: 1, due: 100 },
      { key: "f/t", state: "timed out" },
    ]);
  });
});

describe("help", () => {
  it("is made of a command's own words", () => {
    const help = helpOf({
      usage: ["do THING [--how WAY]", "do --all"],
      about: "Does it.",
      arguments: { THING: "what is done" },
      options: {
        how: { type: "string", value: "WAY", choices: ["well", "badly"], default: "well", help: "the way" },
        all: { type: "boolean", help: "everything" },
      },
      ends: "Ends with 1 if it was not done.",
      run: async () => 0,
    });
    expect(help).toBe(`Usage: stepmark do THING [--how WAY]
       stepmark do --all

Does it.

  THING      what is done
  --how WAY  the way: well, badly; by default well
  --all      everything

Ends with 1 if it was not done.`);
  });
});
