/** I4, I8: processes are killed, Postgres restarts and a network is cut, all at once; `npm run storm:postgres` makes a longer storm. */
import { expect, it } from "vitest";
import { buildChild } from "../../support/build-child.js";
import { binaries } from "../server.js";
import { storm } from "./storm.js";

it.skipIf(binaries() === undefined)(
  "forty runs on four processes: every run ends, no value is wrong, nothing seen complete runs again, one owner each",
  async () => {
    const executor = await buildChild("test/postgres/storm/executor.ts");
    const damage = await storm({ executor, processes: 4, runs: 40, steps: 20, seed: 1 });
    expect(damage).toMatchObject({ runs: 40, entries: 800, repeated: [], wrong: [] });
    expect(damage.kills).toBeGreaterThan(0);
  },
  300_000,
);
