/** What the page makes of a journal before anything is drawn. */
import { describe, expect, it } from "vitest";
import { partsOf } from "../../inspector/page/key.js";
import { lanesOf } from "../../inspector/page/lanes.js";
import { barsAt, Model, type ScopeNode, statusAt } from "../../inspector/page/model.js";
import { TimeScale } from "../../inspector/page/time-scale.js";
import type { JournalRow } from "../../inspector/wire.js";

type Rough = Partial<JournalRow> & { key: string; start: number; end: number };

function modelOf(...rows: Rough[]): Model {
  const model = new Model();
  model.append(
    rows.map((row, index) => ({ seq: index + 1, kind: "step", state: "done", ...row })),
    [],
  );
  return model;
}

/** The tree in one line: `flow(a b(c))`. */
function spelled(model: Model, node?: ScopeNode): string {
  const below = model.childrenOf(node).map((child) => spelled(model, child));
  return `${node?.label ?? ""}${below.length === 0 ? "" : `(${below.join(" ")})`}`;
}

describe("a key", () => {
  it.each([
    ["flow/charge~1@3", ["flow", "charge~1@3"]],
    ["flow/map()[2]/getQuote", ["flow", "map()", "[2]", "getQuote"]],
    ['flow/map()["order-7"]/x', ["flow", "map()", '["order-7"]', "x"]],
    ["flow/a%002Fb/c", ["flow", "a/b", "c"]],
    ["flow#v2", ["flow", "#v2"]],
    ["flow/charge#order%002017", ["flow", "charge#order 17"]],
    [`#${"0".repeat(32)}tail/of/it`, ["…", "of", "it"]],
    ["flow/x%202E", ["flow", "x\\u202e"]],
  ])("%s is a path", (key, labels) => {
    expect(partsOf(key).map(({ label }) => label)).toEqual(labels);
    expect(partsOf(key).at(-1)!.id).toBe(key);
  });
});

describe("the tree of scopes", () => {
  it("has calls in the order in which they began, those of one moment by their numbers", () => {
    const model = modelOf(
      { key: "f/map()[10]/a", start: 5, end: 6 },
      { key: "f/map()[2]/a", start: 5, end: 7 },
      { key: "f/first", start: 0, end: 5 },
    );
    expect(spelled(model)).toBe("(f(first map()([2](a) [10](a))))");
  });

  it("puts what the first of several functions called under [0], though its keys do not say so", () => {
    const model = modelOf(
      { key: "f/map()/a", start: 0, end: 1 },
      { key: "f/map()[1]/a", start: 0, end: 2 },
      { key: "f/map()/b", start: 1, end: 3 },
    );
    expect(spelled(model)).toBe("(f(map()([0](a b) [1](a))))");
    expect(model.node("f/map()")!.size).toBe(3);
    expect(model.node("f/map()[0]")!.size).toBe(2);
    expect(spelled(modelOf({ key: "f/helper()/a", start: 0, end: 1 }))).toBe("(f(helper()(a)))");
  });

  it("counts failures until they are mended", () => {
    const rows: Rough[] = [{ key: "f/g()/a", start: 0, end: 1, state: "failed" }];
    expect(modelOf(...rows).node("f")!.failed).toBe(1);
    const mended = modelOf(...rows, { key: "f/g()/a", start: 9, end: 10 });
    expect([mended.node("f")!.failed, mended.marks.map(({ kind }) => kind)]).toEqual([0, ["again"]]);
  });
});

describe("how things stood at an entry", () => {
  const model = modelOf(
    { key: "f/a", state: "attempt", start: 0, end: 0 },
    { key: "f/a", state: "attempt", attempt: 2, start: 5, end: 5 },
    { key: "f/w", kind: "wait", state: "open", start: 6, end: 6 },
    { key: "f/a", attempt: 2, start: 5, end: 9 },
    { key: "f/w", kind: "wait", state: "refused", start: 6, end: 11 },
    { key: "f/w", kind: "wait", timedOut: true, start: 6, end: 20 },
  );
  const [a, w] = [model.calls.get("f/a")!, model.calls.get("f/w")!];

  it("is what was recorded until then", () => {
    expect([0, 1, 3, 4].map((seq) => statusAt(a, seq))).toEqual([undefined, "trying", "trying", "done"]);
    expect([2, 3, 5, 6].map((seq) => statusAt(w, seq))).toEqual([undefined, "open", "open", "timedOut"]);
  });

  it("shows attempts and refusals as notches", () => {
    expect(barsAt(a, 1)).toEqual([{ start: 0, end: undefined, status: "trying", notches: [] }]);
    expect(barsAt(a, 9)).toEqual([{ start: 0, end: 9, status: "done", notches: [5] }]);
    expect(barsAt(w, 9)).toEqual([{ start: 6, end: 20, status: "timedOut", notches: [11] }]);
  });
});

describe("marks", () => {
  it("tell where another process and another build went on", () => {
    const model = modelOf(
      { key: "f/a", start: 0, end: 10, process: "1-a", modules: [["f.ts", "1"]] },
      { key: "f/b", start: 500, end: 510, process: "2-b", modules: [["f.ts", "2"]] },
      { key: "f/c", start: 511, end: 512 },
    );
    expect(model.marks).toEqual([
      { kind: "process", seq: 2, time: 500, before: 10, text: "another process from here: 2" },
      { kind: "build", seq: 2, time: 500, before: 10, text: "another build from here: f.ts" },
    ]);
  });
});

describe("lanes", () => {
  it("are one for each scope, and more where its calls overlap", () => {
    const model = modelOf(
      { key: "f/a", start: 0, end: 10 },
      { key: "f/b", start: 0, end: 4 },
      { key: "f/c", start: 4, end: 9 },
      { key: "f/g()/d", start: 1, end: 2 },
      { key: "f/a/inner", start: 2, end: 3 },
    );
    const shown = lanesOf(model).map(({ scope, calls }) => [scope.label, ...calls.map(({ call }) => call.node.label)]);
    expect(shown).toEqual([
      ["f", "a"],
      ["f", "b", "c"],
      ["a", "inner"],
      ["g()", "d"],
    ]);
  });
});

describe("the scale of time", () => {
  it("folds what is long and idle, and goes there and back", () => {
    const scale = new TimeScale(
      0,
      100_100,
      [
        [0, 50],
        [100_050, 100_100],
      ],
      true,
    );
    expect(scale.folds).toEqual([{ from: 50, to: 100_050, at: 50, width: 8 }]);
    expect([0, 50, 100_050, 100_100].map((time) => scale.position(time))).toEqual([0, 50, 58, 108]);
    for (const time of [0, 25, 50, 60_000, 100_050, 100_080])
      expect(scale.time(scale.position(time))).toBeCloseTo(time, 3);
    expect(scale.length).toBe(108);
  });

  it("is even without folding, and where nothing is long", () => {
    expect(
      new TimeScale(
        0,
        100_100,
        [
          [0, 50],
          [100_050, 100_100],
        ],
        false,
      ).folds,
    ).toEqual([]);
    expect(
      new TimeScale(
        0,
        100,
        [
          [0, 40],
          [60, 100],
        ],
        true,
      ).folds,
    ).toEqual([]);
  });

  it("never lets many folds take all the room", () => {
    const busy = Array.from({ length: 1_000 }, (_, index) => [index * 10_000, index * 10_000 + 10] as const);
    const scale = new TimeScale(0, 10_000_000, busy, true);
    expect(scale.length).toBeLessThan(25_000);
    expect(scale.length).toBeGreaterThanOrEqual(10_000);
  });
});
