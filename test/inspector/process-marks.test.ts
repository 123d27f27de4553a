/** What the inspector's marks of processes come from: a journal says by whom it goes on. */
import { memoryStore, type RunRecord } from "stepmark";
import { expect, it } from "vitest";
import { JournalWriter } from "../../runtime/run/journal-writer.js";
import { processName } from "../../runtime/stores/owner.js";
import { appended } from "../support/appended.js";

const entry = { key: "w/a", kind: "step", state: "done", attempt: 1, startedAt: 0, endedAt: 0, value: "[1]" } as const;

async function owned(): Promise<{ store: ReturnType<typeof memoryStore>; run: RunRecord }> {
  const store = memoryStore();
  await store.create({ id: "r", workflow: "w", input: "[1]", inputPrint: "", scheme: 1, createdAt: 0 });
  const owner = { token: "t", host: "", pid: 1, processStart: "" };
  const claim = await store.claim("r", owner, () => true, { now: 0, until: 1 });
  if (!claim.claimed) throw new Error("not claimed");
  return { store, run: claim.run };
}

it.each([
  ["nobody", undefined, [processName(), undefined]],
  ["this process", processName(), [undefined, undefined]],
  ["another process", "1-aaaaaa", [processName(), undefined]],
])("the first entry after what %s has written says who writes, if it is another", async (_, lastProcess, expected) => {
  const { store, run } = await owned();
  const reclaim = (fence: number): Promise<number> => Promise.resolve(fence);
  const writer = new JournalWriter({ id: "r", store, lastSeq: 0, lastProcess, fence: run.fence, reclaim });
  await appended(writer, entry);
  await appended(writer, { ...entry, key: "w/b" });
  expect((await store.entries("r")).map(({ process }) => process)).toEqual(expected);
  expect(processName()).toMatch(new RegExp(`^${process.pid}-[0-9a-f]{6}$`));
});
