/** What every store does alike. A new store is put through this suite first; see `runtime/stores/store.ts`. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RunNotFoundError, StaleOwnerError, StoreError } from "../../runtime/errors.js";
import type { Entry } from "../../runtime/journal/entry.js";
import type {
  Lease,
  ListFilter,
  NewRun,
  Owner,
  RunRecord,
  SenderKey,
  Store,
  Timer,
  WholeRun,
} from "../../runtime/stores/store.js";

export const lease: Lease = { now: 1_000, until: 2_000 };
export const alive = (): boolean => false;
export const dead = (): boolean => true;

export const newRun = (id: string, more: Partial<NewRun> = {}): NewRun => ({
  id,
  workflow: "fulfil",
  input: "[1]",
  inputPrint: "[1]",
  scheme: 1,
  createdAt: 500,
  ...more,
});

export const owner = (token: string): Owner => ({ token, host: "h", pid: 1, processStart: "s" });

export const entry = (seq: number, more: Partial<Entry> = {}): Entry => ({
  seq,
  key: `fulfil/step~${seq}`,
  kind: "step",
  state: "done",
  value: `[${seq}]`,
  attempt: 1,
  startedAt: 600,
  endedAt: 700 + seq,
  ...more,
});

/** Creates a run and owns it; returns the fence. */
export async function owned(store: Store, id: string, token = "a"): Promise<number> {
  await store.create(newRun(id));
  const claim = await store.claim(id, owner(token), dead, lease);
  if (!claim.claimed) throw new Error("not claimed");
  return claim.run.fence;
}

/** Puts a store through the suite. `open` gives an empty one. */
export function describeStore(name: string, open: () => Promise<Store>): void {
  describe(`${name} behaves as every store:`, () => {
    let store: Store;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(async () => {
      await store.close();
    });
    const read = async (id: string): Promise<RunRecord> => (await store.read(id))!;
    const seqs = async (id: string, after?: number, limit?: number): Promise<number[]> =>
      (await store.entries(id, after, limit)).map(({ seq }) => seq);

    it("creates a run once, and gives the one that is there", async () => {
      const first = await store.create(newRun("r"));
      expect(first).toEqual({
        created: true,
        run: { ...newRun("r"), status: "running", fence: 0, updatedAt: 500 },
      });
      const second = await store.create(newRun("r", { workflow: "other", input: "[2]" }));
      expect(second).toEqual({ created: false, run: first.run });
      expect(await store.read("r")).toEqual(first.run);
      expect(await store.read("none")).toBeUndefined();
    });

    it("keeps any text in ids and values", async () => {
      for (const id of ["", "a'b\"c", "ü/🎉", "%_", "x".repeat(500)]) {
        const fence = await owned(store, id);
        await store.append(id, fence, [entry(1, { key: `${id}\u0000\ud800`, value: "\u2028'" })]);
        expect((await read(id)).id).toBe(id);
        expect(await store.entries(id)).toEqual([entry(1, { key: `${id}\u0000\ud800`, value: "\u2028'" })]);
      }
    });

    /** A run with everything in it that a run can have. */
    const whole = (id: string, more: Partial<WholeRun["run"]> = {}): WholeRun => ({
      run: {
        ...newRun(id, { parent: { id: "parent", key: "p/child" } }),
        status: "waiting",
        output: "[o]",
        error: "[e]",
        culprits: ["k"],
        orphans: [],
        edited: ["k1", "k2"],
        due: 9_000,
        fence: 7,
        updatedAt: 800,
        ...more,
      },
      entries: [entry(1, { modules: [["m.ts", "t"]], root: "m.ts#f" }), entry(2, { value: "\u2028'" })],
      inbox: [
        { number: 3, target: "approve", value: "[1]", at: 10 },
        { number: 5, target: "w/key", value: "", at: 11 },
      ],
    });

    it("restores a run as it was kept, for anybody to go on with", async () => {
      const { run, entries, inbox } = whole("r");
      const given = structuredClone({ run: { ...run, owner: owner("gone"), leaseUntil: 5_000 }, entries, inbox });
      expect(await store.restore([given])).toEqual([]);
      given.entries[0]!.key = given.run.culprits![0] = "changed";
      expect(await read("r")).toEqual(run);
      expect([await store.entries("r"), await store.inbox("r")]).toEqual([entries, inbox]);
      expect((await store.ready(0)).map(({ id }) => id)).toEqual(["r"]);
      const claim = await store.claim("r", owner("a"), () => expect.fail("nobody to ask about"), lease);
      expect(claim).toMatchObject({ claimed: true, run: { fence: 8 } });
      await store.append("r", 8, [entry(3)], { consume: [3] });
      expect((await store.post("r", { target: "t", value: "[2]", at: 12 }))?.number).toBe(6);
      expect((await store.inbox("r")).map(({ number }) => number)).toEqual([5, 6]);
      expect(await seqs("r")).toEqual([1, 2, 3]);
    });

    it("restores nothing over a run that is there, and nothing in part", async () => {
      await store.create(newRun("r"));
      const before = await read("r");
      expect(await store.restore([whole("new"), whole("r")])).toEqual(["r"]);
      expect(await store.read("new")).toBeUndefined();
      expect([await read("r"), await store.entries("r"), await store.inbox("r")]).toEqual([before, [], []]);
      for (const entries of [[entry(2)], [entry(1), entry(3)], [entry(1), entry(1)]])
        await expect(store.restore([whole("new"), { ...whole("s"), entries }])).rejects.toBeInstanceOf(StoreError);
      expect([await store.read("new"), await store.read("s"), await store.entries("s")]).toEqual([
        undefined,
        undefined,
        [],
      ]);
      const bare = whole("s", {
        output: undefined,
        error: undefined,
        culprits: undefined,
        due: undefined,
        parent: undefined,
      });
      expect(await store.restore([whole("new"), { ...bare, entries: [], inbox: [] }])).toEqual([]);
      expect(await seqs("new")).toEqual([1, 2]);
      expect(await read("s")).toEqual(bare.run);
      expect((await store.post("s", { target: "t", value: "[2]", at: 12 }))?.number).toBe(1);
    });

    it("lists newest first, by status, by workflow, up to a limit", async () => {
      await store.create(newRun("old", { createdAt: 1 }));
      await store.create(newRun("new", { createdAt: 3, workflow: "other" }));
      await store.create(newRun("middle", { createdAt: 2 }));
      await store.create(newRun("middle too", { createdAt: 2 }));
      await store.append("new", await owned(store, "new"), [], { status: "waiting" });
      await store.append("old", await owned(store, "old"), [], { status: "failed" });
      const ids = async (filter: Parameters<Store["list"]>[0]) => (await store.list(filter)).map(({ id }) => id);
      expect(await ids({})).toEqual(["new", "middle too", "middle", "old"]);
      expect(await ids({ limit: 2 })).toEqual(["new", "middle too"]);
      expect(await ids({ limit: 0 })).toEqual([]);
      expect(await ids({ status: "running" })).toEqual(["middle too", "middle"]);
      expect(await ids({ status: ["waiting", "failed"] })).toEqual(["new", "old"]);
      expect(await ids({ status: ["failed", "failed"] })).toEqual(["old"]);
      expect(await ids({ skip: 1, limit: 2 })).toEqual(["middle too", "middle"]);
      expect(await ids({ status: [] })).toEqual([]);
      expect(await ids({ workflow: "fulfil", status: ["failed", "running"], limit: 2 })).toEqual([
        "middle too",
        "middle",
      ]);
      expect((await store.list({ status: "waiting" }))[0]).toEqual(await store.read("new"));
    });

    describe("a list by pages", () => {
      /** Of 23 runs some are begun at one time, and the statuses and workflows take turns. */
      const statuses = ["running", "waiting", "completed", "failed", "cancelled"] as const;
      const workflows = ["fulfil", "other"];
      const put = async (first: number, count: number, now = (n: number): number => Math.floor(n / 3)) => {
        const runs = Array.from({ length: count }, (_, i) => i + first).map((n) => ({
          run: {
            ...newRun(`r${n}`, { createdAt: now(n), workflow: workflows[n % 2]! }),
            ...{ status: statuses[n % 5]!, fence: 0, updatedAt: now(n) },
          },
          entries: [],
          inbox: [],
        }));
        expect(await store.restore(runs)).toEqual([]);
      };
      const ids = async (filter: ListFilter): Promise<string[]> => (await store.list(filter)).map(({ id }) => id);
      const pages = async (
        filter: ListFilter,
        limit: number,
        between = async (_read: string[]): Promise<void> => {},
      ) => {
        const all: string[] = [];
        for (;;) {
          const page = await ids({ ...filter, limit, ...(all.length > 0 && { after: all.at(-1)! }) });
          all.push(...page);
          if (page.length < limit) return all;
          await between(all);
        }
      };

      it.each<ListFilter>([
        {},
        { status: "failed" },
        { status: ["completed", "failed", "cancelled"] },
        { status: ["failed", "failed", "running"], workflow: "other" },
        { workflow: "fulfil" },
        { unchangedSince: 4, status: ["completed", "waiting"] },
        { status: [] },
      ])("is that list, whatever their length: %j", async (filter) => {
        await put(0, 23);
        for (const order of ["newest", "oldest"] as const) {
          const all = await ids({ ...filter, order });
          const numbers = all.map((id) => Number(id.slice(1)));
          expect(numbers).toEqual([...numbers].sort((a, b) => (order === "newest" ? b - a : a - b)));
          expect(new Set(all).size).toBe(all.length);
          for (const limit of [1, 2, 3, 10, 23, 100]) expect(await pages({ ...filter, order }, limit)).toEqual(all);
          if (all.length > 4)
            expect(await ids({ ...filter, order, after: all[1]!, skip: 1, limit: 2 })).toEqual(all.slice(3, 5));
        }
      });

      it("has each run once while others are begun, and while those of earlier pages come to another status", async () => {
        await put(0, 12);
        const before = await ids({ status: ["running", "waiting", "completed"] });
        let next = 100;
        const begin = async (read: string[]): Promise<void> => {
          await put(next++, 1, () => 1_000);
          // The one that the next page comes after among them.
          for (const id of read) {
            const fence = await owned(store, id);
            await store.append(id, fence, [], { status: "failed", release: true });
          }
        };
        expect(await pages({ status: ["running", "waiting", "completed"] }, 2, begin)).toEqual(before);
        // Those that are newer come at the end.
        const oldest = await pages({ order: "oldest" }, 5, async () => {
          if (next < 110) await put(next++, 1, () => 1_000);
        });
        expect(oldest).toEqual(await ids({ order: "oldest" }));
      });

      it("goes on after a run that is not among those that are wanted, and not after one that is gone", async () => {
        await put(0, 6);
        expect(await ids({ status: ["running"], after: "r4" })).toEqual(["r0"]);
        expect(await ids({ workflow: "other", order: "oldest", after: "r2" })).toEqual(["r3", "r5"]);
        await store.delete("r4");
        const error = await store.list({ after: "r4" }).catch((error) => error);
        expect(error).toMatchObject({ code: "RUN_NOT_FOUND", runId: "r4" });
      });
    });

    it("appends entries and gives them back in order, whole", async () => {
      const fence = await owned(store, "r");
      const full = entry(2, {
        args: "[1]",
        site: { module: "m.ts", moduleText: "t", container: "f>g", anchor: "step~1", line: 3, text: "x" },
        chain: "c",
        within: "w",
        causes: ["k"],
        name: "n",
        due: 5,
        modules: [["m.ts", "t"]],
      });
      await store.append("r", fence, [entry(1)]);
      await store.append("r", fence, [full, entry(3)]);
      expect(await store.entries("r")).toEqual([entry(1), full, entry(3)]);
      expect(await seqs("r", 2)).toEqual([3]);
      expect(await seqs("r", 3)).toEqual([]);
      expect(await seqs("r", 0, 2)).toEqual([1, 2]);
      expect(await seqs("r", 1, 1)).toEqual([2]);
      expect(await seqs("r", 2, 5)).toEqual([3]);
      expect(await seqs("none")).toEqual([]);
    });

    it("takes the appends that one tick makes to a run in call order, also for several runs", async () => {
      const [a, b] = [await owned(store, "a"), await owned(store, "b")];
      const acknowledged: string[] = [];
      const note = (what: string) => () => acknowledged.push(what);
      await Promise.all([
        store.append("a", a, [entry(1)]).then(note("a1")),
        store.append("b", b, [entry(1)]).then(note("b1")),
        store.append("a", a, [entry(2), entry(3)]).then(note("a2")),
        store.append("a", a, [], { status: "completed", output: "[3]", release: true }).then(note("a3")),
        store.append("b", b, [entry(2)]).then(note("b2")),
      ]);
      expect(acknowledged.filter((what) => what.startsWith("a"))).toEqual(["a1", "a2", "a3"]);
      expect(acknowledged.filter((what) => what.startsWith("b"))).toEqual(["b1", "b2"]);
      expect(await seqs("a")).toEqual([1, 2, 3]);
      expect(await seqs("b")).toEqual([1, 2]);
      expect((await read("a")).status).toBe("completed");
    });

    it("refuses what would leave a gap or write a number twice, and goes on", async () => {
      const fence = await owned(store, "r");
      await store.append("r", fence, [entry(1)]);
      const refused = [[entry(1)], [entry(3)], [entry(2), entry(4)], [entry(2), entry(2)]];
      for (const entries of refused) {
        await expect(store.append("r", fence, entries, { status: "failed" })).rejects.toBeInstanceOf(StoreError);
        const alone = await store.append("r", fence, entries).catch((error) => error);
        expect(alone).toBeInstanceOf(StoreError);
        expect(alone).not.toBeInstanceOf(StaleOwnerError);
      }
      await expect(store.append("r", fence, [entry(2)])).resolves.toBeUndefined();
      const tick = [[entry(3)], [entry(4)], [entry(4)], [entry(7)], [entry(5), entry(6)], [entry(7)], [entry(9)]];
      const outcomes = await Promise.allSettled(tick.map((entries) => store.append("r", fence, entries)));
      expect(outcomes.map(({ status }) => status[0]).join("")).toBe("ffrrffr");
      expect(await seqs("r")).toEqual([1, 2, 3, 4, 5, 6, 7]);
      expect((await read("r")).status).toBe("running");
    });

    it("changes the run's record with an append, and only what was asked", async () => {
      const fence = await owned(store, "r");
      await store.append("r", fence, [entry(1)], { status: "failed", error: "[e]", culprits: ["k1", "k2"] });
      expect(await read("r")).toMatchObject({
        status: "failed",
        error: "[e]",
        culprits: ["k1", "k2"],
        updatedAt: 701,
        fence,
        owner: owner("a"),
        leaseUntil: lease.until,
      });
      await store.append("r", fence, [], { status: "running" });
      expect(await read("r")).toMatchObject({ status: "running", error: "[e]", culprits: ["k1", "k2"] });
      await store.append("r", fence, [], { error: null, culprits: null, output: "[o]" });
      const run = await read("r");
      expect([run.status, run.error, run.culprits, run.output]).toEqual(["running", undefined, undefined, "[o]"]);
      await store.append("r", fence, [], { output: null, culprits: [] });
      expect(await read("r")).toMatchObject({ culprits: [] });
      expect((await read("r")).output).toBeUndefined();
    });

    it("I8: gives a run to one owner, until that one is dead or lets go", async () => {
      await store.create(newRun("r"));
      const asked: unknown[] = [];
      const first = await store.claim("r", owner("a"), () => expect.fail("nobody to ask about"), lease);
      expect(first).toMatchObject({
        claimed: true,
        run: { fence: 1, owner: owner("a"), leaseUntil: 2_000, updatedAt: 1_000 },
      });
      const isAlive = (...given: unknown[]): boolean => {
        asked.push(given);
        return false;
      };
      expect(await store.claim("r", owner("b"), isAlive, lease)).toEqual({ claimed: false, owner: owner("a") });
      expect(asked).toEqual([[owner("a"), 2_000]]);
      expect(await read("r")).toMatchObject({ fence: 1, owner: owner("a") });
      const later: Lease = { now: 3_000, until: 4_000 };
      expect(await store.claim("r", owner("b"), dead, later)).toMatchObject({
        claimed: true,
        run: { fence: 2, owner: owner("b"), leaseUntil: 4_000, updatedAt: 3_000 },
      });
      await store.append("r", 2, [entry(1)], { status: "waiting", release: true });
      const free = await read("r");
      expect([free.owner, free.leaseUntil, free.fence, free.status]).toEqual([undefined, undefined, 2, "waiting"]);
      expect(await store.claim("r", owner("a"), alive, lease)).toMatchObject({
        claimed: true,
        run: { fence: 3, status: "waiting" },
      });
      await expect(store.claim("none", owner("a"), dead, lease)).rejects.toBeInstanceOf(RunNotFoundError);
    });

    it("I8: gives a run to one of many that claim it at once", async () => {
      await store.create(newRun("r"));
      const claims = await Promise.all(
        ["a", "b", "c", "d"].map((token) => store.claim("r", owner(token), alive, lease)),
      );
      expect(claims.filter(({ claimed }) => claimed)).toHaveLength(1);
    });

    it("I8: refuses a stale owner's append without effect, and takes the others of that tick", async () => {
      const stale = await owned(store, "r");
      const other = await owned(store, "other");
      await store.claim("r", owner("b"), dead, lease);
      await store.post("r", { target: "t", value: "[v]", at: 1 });
      const results = await Promise.allSettled([
        store.append("other", other, [entry(1)]),
        store.append("r", stale, [entry(1)]),
        store.append("r", stale, [], { status: "completed", output: "[o]", release: true }),
        store.append("r", stale, [entry(1)], { status: "failed", consume: [1] }),
        store.append("r", stale, []),
        store.append("r", stale + 1, [entry(1, { value: "[new]" })]),
        store.append("other", other, [entry(2)]),
        store.append("none", 1, [entry(1)]),
      ]);
      expect(results.map((each) => each.status[0]).join("")).toBe("frrrrffr");
      await expect(store.append("r", stale, [entry(2)])).rejects.toBeInstanceOf(StaleOwnerError);
      await expect(store.append("none", 1, [entry(1)])).rejects.toBeInstanceOf(StaleOwnerError);
      for (const index of [1, 2, 3, 4, 7]) {
        expect((results[index] as PromiseRejectedResult).reason).toBeInstanceOf(StaleOwnerError);
      }
      expect((await store.entries("r")).map(({ value }) => value)).toEqual(["[new]"]);
      expect(await seqs("other")).toEqual([1, 2]);
      expect(await read("r")).toMatchObject({ status: "running", owner: owner("b") });
      expect(await store.inbox("r")).toHaveLength(1);
    });

    it("I8: refuses the owner that let go, in the same tick and later", async () => {
      const fence = await owned(store, "r");
      const results = await Promise.allSettled([
        store.append("r", fence, [entry(1)], { release: true }),
        store.append("r", fence, [entry(2)]),
      ]);
      expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
      await expect(store.append("r", fence, [entry(2)])).rejects.toBeInstanceOf(StaleOwnerError);
      expect(await seqs("r")).toEqual([1]);
    });

    it("an append goes before a claim that is made after it", async () => {
      const fence = await owned(store, "r");
      const [appended, claim] = await Promise.allSettled([
        store.append("r", fence, [entry(1)]),
        store.claim("r", owner("b"), dead, lease),
      ]);
      expect([appended.status, claim.status]).toEqual(["fulfilled", "fulfilled"]);
      expect(await seqs("r")).toEqual([1]);
    });

    it("renews the leases that are still held, and tells the others", async () => {
      const held = await owned(store, "held");
      const taken = await owned(store, "taken");
      const released = await owned(store, "released");
      await store.claim("taken", owner("b"), dead, lease);
      await store.append("released", released, [], { release: true });
      const fences = new Map([
        ["held", held],
        ["taken", taken],
        ["released", released],
        ["none", 1],
      ]);
      expect((await store.renew(fences, { now: 5_000, until: 6_000 })).sort()).toEqual(["none", "released", "taken"]);
      expect((await read("held")).leaseUntil).toBe(6_000);
      expect((await read("taken")).leaseUntil).toBe(2_000);
      expect(await store.renew(new Map(), lease)).toEqual([]);
    });

    it("queues messages in order of arrival, each used once, and never counts back", async () => {
      const fence = await owned(store, "r");
      await store.create(newRun("other"));
      expect(await store.post("r", { target: "approve", value: "[1]", at: 10 })).toEqual({
        number: 1,
        target: "approve",
        value: "[1]",
        at: 10,
      });
      for (const value of ["[2]", "[3]"]) await store.post("r", { target: "approve", value, at: 11 });
      await store.post("other", { target: "t", value: "[x]", at: 1 });
      const inbox = async () => (await store.inbox("r")).map(({ number, value }) => [number, value]);
      expect(await inbox()).toEqual([
        [1, "[1]"],
        [2, "[2]"],
        [3, "[3]"],
      ]);
      expect((await store.inbox("r", 1)).map(({ number }) => number)).toEqual([2, 3]);
      await store.append("r", fence, [entry(1)], { consume: [1, 3] });
      expect(await inbox()).toEqual([[2, "[2]"]]);
      expect((await store.post("r", { target: "t", value: "[4]", at: 12 }))?.number).toBe(4);
      for (const [after, numbers] of [
        [0, [2, 4]],
        [1, [2, 4]],
        [2, [4]],
        [4, []],
      ] as const)
        expect((await store.inbox("r", after)).map(({ number }) => number)).toEqual(numbers);
      expect((await store.inbox("other")).map(({ number }) => number)).toEqual([1]);
      expect((await store.inbox("r", 1)).map(({ number }) => number)).toEqual([2, 4]);
      expect((await store.inbox("r", 2)).map(({ number }) => number)).toEqual([4]);
      expect(await store.inbox("r", 4)).toEqual([]);
      expect(await store.inbox("none")).toEqual([]);
      await expect(store.post("none", { target: "t", value: "", at: 1 })).rejects.toBeInstanceOf(RunNotFoundError);
    });

    it("tells which of some runs have messages that are not used", async () => {
      const fence = await owned(store, "r");
      for (const id of ["other", "neither", "not asked for"]) await store.create(newRun(id));
      for (const id of ["r", "other", "not asked for"]) await store.post(id, { target: "t", value: "[1]", at: 1 });
      const messaged = async () => (await store.messaged(["other", "r", "neither", "none"])).sort();
      expect(await messaged()).toEqual(["other", "r"]);
      await store.append("r", fence, [entry(1)], { consume: [1] });
      expect([await messaged(), await store.messaged([])]).toEqual([["other"], []]);
    });

    it("tells which running runs nobody drives, and asks of each owner once", async () => {
      for (const [id, token] of [
        ["a1", "a"],
        ["b1", "b"],
        ["a2", "a"],
        ["ended", "a"],
      ] as const)
        await owned(store, id, token);
      await store.append("ended", 1, [], { status: "completed", output: "[1]" });
      await store.create(newRun("never"));
      await store.append("left", await owned(store, "left"), [], { release: true });
      await store.append("waits", await owned(store, "waits"), [], { status: "waiting", release: true });
      await store.renew(new Map([["a2", 1]]), { now: 1_500, until: 3_000 });
      const ask = async (dead: string): Promise<unknown> => {
        const asked = new Map<string, unknown[]>();
        const left = await store.left((who, until, runs) => {
          expect(asked.has(who.token)).toBe(false);
          asked.set(who.token, [who, until, runs]);
          return who.token === dead;
        });
        return [left.map(({ id }) => id).sort(), [asked.get("a"), asked.get("b")]];
      };
      const asked = [
        [owner("a"), 2_000, 2],
        [owner("b"), 2_000, 1],
      ];
      expect(await ask("a")).toEqual([["a1", "a2", "left", "never"], asked]);
      expect(await ask("b")).toEqual([["b1", "left", "never"], asked]);
      expect(await ask("none")).toEqual([["left", "never"], asked]);
      const { id, workflow, status, fence, owner: whose, leaseUntil, due } = (await store.read("a1"))!;
      const [first] = (await store.left(() => true)).filter((run) => run.id === "a1");
      // Without its values: there may be very many.
      expect(first).toStrictEqual({ id, workflow, status, fence, owner: whose, leaseUntil, due });
      expect(due).toBeUndefined();
    });

    it("keeps what an owner tells of those before it", async () => {
      await owned(store, "run", "a");
      const next = { ...owner("b"), takeovers: { count: 2, reached: 7 } };
      await store.claim("run", next, dead, lease);
      expect((await store.read("run"))?.owner).toEqual(next);
      const seen: Owner[] = [];
      expect((await store.left((who) => seen.push(who) > 0)).map((run) => run.owner)).toEqual([next]);
      expect(seen).toEqual([next]);
    });

    it("tells which of some runs wait, are nobody's, and are kept by an app", async () => {
      const pause = async (id: string, keeper: string | null, due: number | null = null): Promise<void> =>
        store.append(id, await owned(store, id), [], { status: "waiting", due, keeper, release: true });
      await pause("r", "a");
      await pause("timed", "a", 5_000);
      await pause("not asked for", "a");
      await pause("another's", "b");
      await pause("nobody's", null);
      const fence = await owned(store, "owned");
      await store.append("owned", fence, [], { status: "waiting", keeper: "a" });
      await store.append("running", await owned(store, "running"), [], {
        status: "running",
        keeper: "a",
        release: true,
      });
      const ids = ["r", "timed", "another's", "nobody's", "owned", "running", "none"];
      const kept = async (keeper: string) => (await store.kept(keeper, ids)).sort((a, b) => a.id.localeCompare(b.id));
      expect(await kept("a")).toEqual([{ id: "r" }, { id: "timed", due: 5_000 }]);
      expect(await kept("b")).toEqual([{ id: "another's" }]);
      expect(await store.kept("a", [])).toEqual([]);
      // Whoever puts it to rest next, keeps it, or leaves it alone; what else is changed does not matter.
      await store.append("owned", fence, [entry(1)], { release: true });
      await pause("r", "b");
      await pause("timed", null, 5_000);
      expect(await kept("a")).toEqual([{ id: "owned" }]);
      expect(await kept("b")).toEqual([{ id: "another's" }, { id: "r" }]);
    });

    it("tells when the runs are due that an app keeps, the earliest first, a page at a time", async () => {
      const dues: Record<string, number | null> = { c: 300, a: 100, b1: 200, b2: 200, b3: 200.5, never: null };
      for (const [id, due] of Object.entries(dues))
        await store.append(id, await owned(store, id), [], { status: "waiting", due, keeper: "a", release: true });
      await store.append("d", await owned(store, "d"), [], { status: "waiting", due: 1, keeper: "b", release: true });
      const all = ["a", "b1", "b2", "b3", "c"].map((id) => ({ id, due: dues[id]! }));
      expect(await store.timers("a", 100)).toEqual(all);
      expect(await store.timers("none", 100)).toEqual([]);
      const paged: Timer[] = [];
      while (paged.length < all.length) paged.push(...(await store.timers("a", 2, paged.at(-1))));
      expect(paged).toEqual(all);
      expect(await store.timers("a", 2, paged.at(-1))).toEqual([]);
      // What has gone does not lead astray.
      await owned(store, "a");
      await store.delete("b1");
      expect((await store.timers("a", 100, all[1])).map(({ id }) => id)).toEqual(["b2", "b3", "c"]);
      expect((await store.timers("a", 1)).map(({ id }) => id)).toEqual(["b2"]);
    });

    it("D5: takes one message for a target that may have only one, used or not", async () => {
      const fence = await owned(store, "r");
      await store.create(newRun("other"));
      const post = async (run: string, target: string): Promise<number | undefined> =>
        (await store.post(run, { target, value: "[1]", at: 1 }, { once: true }))?.number;
      // Two at once: which of them comes first is for nobody to say.
      const both = await Promise.all([post("r", "w/a"), post("r", "w/a")]);
      expect(both.filter((number) => number !== undefined)).toEqual([1]);
      expect(await post("r", "w/b")).toBe(2);
      await store.append("r", fence, [entry(1)], { consume: [1] });
      expect(await post("r", "w/a")).toBeUndefined();
      expect(await post("other", "w/a")).toBe(1);
      expect((await store.inbox("r")).map(({ target }) => target)).toEqual(["w/b"]);
    });

    it("puts a message into another run's inbox with an append, in one step with it", async () => {
      const fence = await owned(store, "child");
      const parent = await owned(store, "parent");
      const heard: string[] = [];
      store.onPost((id) => heard.push(id));
      const wake = { run: "parent", target: "parent/child", at: 5 };
      await store.append("child", fence, [entry(1)], { status: "completed", output: "[o]", wake });
      await expect(store.append("child", fence + 1, [], { wake })).rejects.toBeInstanceOf(StaleOwnerError);
      await store.append("child", fence, [], { wake: { ...wake, run: "nobody" } });
      expect(await store.inbox("parent")).toEqual([{ number: 1, target: "parent/child", value: "", at: 5 }]);
      expect(heard).toContain("parent");
      // Two runs that wake each other, at once.
      const other = { run: "child", target: "child/parent", at: 6 };
      await Promise.all([
        store.append("child", fence, [], { wake, release: true }),
        store.append("parent", parent, [entry(1)], { wake: other }),
      ]);
      expect((await store.inbox("parent")).map(({ number }) => number)).toEqual([1, 2]);
      expect((await store.inbox("child")).map(({ target }) => target)).toEqual(["child/parent"]);
    });

    it("turns messages away: they are used up, and may be posted again", async () => {
      const fence = await owned(store, "r");
      const message = { target: "w/a", value: "[1]", at: 1 };
      await store.post("r", message, { once: true });
      await store.append("r", fence, [entry(1)], { refuse: [1] });
      expect(await store.inbox("r")).toEqual([]);
      expect(await store.post("r", message, { once: true })).toMatchObject({ number: 2 });
    });

    it("puts in one message under each key of its sender's, used or not, and knows what it was", async () => {
      const fence = await owned(store, "r");
      await store.create(newRun("s"));
      const put = (run: string, target: string, value: string, sender: SenderKey, once = false) =>
        store.post(run, { target, value, at: 1 }, { sender, once });
      const one = { key: "evt_1", print: "p1" };
      expect(await store.sent("r", "evt_1")).toBeUndefined();
      expect((await put("r", "t", "[1]", one))?.number).toBe(1);
      expect(await put("r", "t", "[1]", one)).toBeUndefined();
      expect(await put("r", "other", "[2]", { key: "evt_1", print: "p2" })).toBeUndefined();
      expect((await put("r", "t", "[3]", { key: "EVT_1", print: "p3" }))?.number).toBe(2);
      expect((await put("s", "t", "[4]", one))?.number).toBe(1);
      await store.append("r", fence, [entry(1)], { consume: [1] });
      await store.append("r", fence, [entry(2)], { refuse: [2], status: "completed", release: true });
      expect(await put("r", "t", "[1]", one)).toBeUndefined();
      expect([await store.sent("r", "evt_1"), await store.sent("r", "EVT_1")]).toEqual(["p1", "p3"]);
      expect([await store.sent("r", "evt"), await store.sent("none", "evt_1")]).toEqual([undefined, undefined]);
      expect(await store.inbox("r")).toEqual([]);
      expect(await store.inbox("s")).toEqual([{ number: 1, target: "t", value: "[4]", at: 1 }]);
      // Those without one are not in each other's way.
      for (const number of [3, 4])
        expect((await store.post("r", { target: "t", value: "[5]", at: 1 }))?.number).toBe(number);
      expect(await put("s", "t", "[6]", { key: "evt_2", print: "p" }, true)).toBeUndefined();
      expect(await store.sent("s", "evt_2")).toBeUndefined();
      await store.delete("r");
      await store.create(newRun("r"));
      expect(await store.sent("r", "evt_1")).toBeUndefined();
      const long = { key: "\u{1f511}\u0001".repeat(85), print: "p" };
      expect((await put("r", "t", "[7]", long))?.number).toBe(1);
      expect([await put("r", "t", "[7]", long), await store.sent("r", long.key)]).toEqual([undefined, "p"]);
    });

    it("puts in one of many messages that come under one key at once", async () => {
      await store.create(newRun("r"));
      const sender = { key: "evt_1", print: "p" };
      const put = await Promise.all(
        Array.from({ length: 8 }, () => store.post("r", { target: "t", value: "[1]", at: 1 }, { sender })),
      );
      expect(put.filter((each) => each !== undefined)).toHaveLength(1);
      expect(await store.inbox("r")).toHaveLength(1);
    });

    it("tells listeners of a message once it is there, until they stop", async () => {
      await store.create(newRun("r"));
      const heard: Array<[string, number]> = [];
      const seen = new Promise<void>((resolve) => {
        store.onPost((id) => {
          void store.inbox(id).then((inbox) => {
            heard.push([id, inbox.length]);
            resolve();
          });
        });
      });
      const stop = store.onPost(() => expect.fail("stopped"));
      stop();
      await store.post("r", { target: "t", value: "[1]", at: 1 });
      await seen;
      expect(heard).toEqual([["r", 1]]);
    });

    it("deletes a run with its journal and messages, so that the id is free", async () => {
      const fence = await owned(store, "r");
      await store.append("r", fence, [entry(1)]);
      await store.post("r", { target: "t", value: "[1]", at: 1 });
      await store.delete("r");
      await store.delete("none");
      expect(await store.read("r")).toBeUndefined();
      await expect(store.append("r", fence, [entry(2)])).rejects.toBeInstanceOf(StaleOwnerError);
      expect((await store.create(newRun("r"))).created).toBe(true);
      expect([await store.entries("r"), await store.inbox("r")]).toEqual([[], []]);
    });

    it("deletes a run only as it was seen, if that is asked for, and never one that somebody owns", async () => {
      const fence = await owned(store, "r");
      await store.append("r", fence, [entry(1)], { status: "completed" });
      const { updatedAt } = await read("r");
      expect(await store.delete("r", updatedAt)).toBe(false);
      await store.append("r", fence, [], { release: true });
      const seen = (await read("r")).updatedAt;
      expect(await store.delete("r", seen - 1)).toBe(false);
      expect(await store.delete("none", seen)).toBe(false);
      expect(await seqs("r")).toEqual([1]);
      expect(await store.delete("r", seen)).toBe(true);
      expect(await store.delete("r")).toBe(false);
      expect(await store.read("r")).toBeUndefined();
    });

    it("lists runs that have not changed since a time", async () => {
      for (const [id, createdAt, endedAt] of [
        ["b", 200, 900],
        ["a", 100, 500],
        ["c", 300, 400],
        ["late", 50, 1_500],
      ] as const) {
        await store.create(newRun(id, { createdAt }));
        const claim = await store.claim(id, owner("a"), dead, { now: createdAt, until: 2_000 });
        await store.append(id, claim.claimed ? claim.run.fence : 0, [entry(1, { endedAt })], { status: "completed" });
      }
      await store.create(newRun("new", { createdAt: 10 }));
      const old = async (more: ListFilter): Promise<string[]> =>
        (await store.list({ status: "completed", unchangedSince: 1_000, order: "oldest", ...more })).map(
          ({ id }) => id,
        );
      expect(await old({})).toEqual(["a", "b", "c"]);
      expect(await old({ skip: 1, limit: 1 })).toEqual(["b"]);
      expect(await old({ unchangedSince: 900 })).toEqual(["a", "c"]);
      expect(await old({ workflow: "none" })).toEqual([]);
      expect(await old({ order: "newest" })).toEqual(["c", "b", "a"]);
      expect((await store.list({ skip: 1, limit: 2 })).map(({ id }) => id)).toEqual(["b", "a"]);
    });

    it("shares no object with its callers", async () => {
      const own = owner("a");
      const written = entry(1, { causes: ["k"], modules: [["m", "t"]] });
      const culprits = ["k"];
      await store.create(newRun("r"));
      const { run } = (await store.claim("r", own, dead, lease)) as { run: RunRecord };
      const appended = store.append("r", run.fence, [written], { culprits });
      own.token = written.key = culprits[0] = "changed";
      written.causes!.push("changed");
      await appended;
      run.owner!.token = "changed";
      const [given] = await store.entries("r");
      given!.modules![0]![0] = "changed";
      const record = await read("r");
      record.culprits!.push("changed");
      record.owner!.pid = -1;
      expect(await store.entries("r")).toEqual([entry(1, { causes: ["k"], modules: [["m", "t"]] })]);
      expect(await read("r")).toMatchObject({ owner: owner("a"), culprits: ["k"] });
      expect((await store.list({}))[0]).toEqual(await read("r"));
    });
  });
}
