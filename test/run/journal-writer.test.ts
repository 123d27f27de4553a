/** The order of what is written to a journal, whatever happens to the ownership meanwhile. */
import { type Entry, memoryStore } from "stepmark";
import { expect, it } from "vitest";
import { JournalWriter } from "../../runtime/run/journal-writer.js";
import { appended } from "../support/appended.js";

const id = "run";
const lease = { now: 0, until: 1 };
const owner = { token: "t", host: "h", pid: 1, processStart: "1" };
const entry = (key: string): Omit<Entry, "seq"> => ({
  key,
  kind: "step",
  state: "done",
  value: "[1]",
  attempt: 1,
  startedAt: 0,
  endedAt: 0,
});

it.each([0, 1, 2, 3, 4, 5, 6])(
  "entries keep their order though the run is taken back between them, %i microtasks later",
  async (ticks) => {
    const store = memoryStore();
    await store.create({ id, workflow: "w", input: "[]", inputPrint: "", scheme: 1, createdAt: 0 });
    const claim = await store.claim(id, owner, () => true, lease);
    const written: Array<Promise<Entry>> = [];
    const writer = new JournalWriter({
      id,
      store,
      lastSeq: 0,
      fence: claim.claimed ? claim.run.fence : 0,
      reclaim: async () => {
        const again = await store.claim(id, owner, () => true, lease);
        void later(ticks).then(() => written.push(appended(writer, entry("second")), appended(writer, entry("third"))));
        return again.claimed ? again.run.fence : 0;
      },
    });
    await writer.giveUp(undefined);
    await appended(writer, entry("first"));
    await later(20);
    await Promise.all(written);
    expect((await store.entries(id)).map(({ seq, key }) => [seq, key])).toEqual([
      [1, "first"],
      [2, "second"],
      [3, "third"],
    ]);
  },
);

async function later(ticks: number): Promise<void> {
  for (let i = 0; i < ticks; i++) await undefined;
}
