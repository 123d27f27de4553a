/** Faults put in on purpose: what the simulator is worth. */
import { expect, it } from "vitest";
import { explore } from "./explore.js";
import { faults } from "./faults.js";

for (const { name, put, conditions } of faults) {
  it(`finds within 1,000 seeds: ${name}`, async () => {
    const takeOut = put?.();
    try {
      const { wrong } = await explore({ runs: 1000, seed: 1, mostWrong: 1, shrink: false, conditions: conditions?.() });
      expect(wrong).toHaveLength(1);
    } finally {
      takeOut?.();
    }
  }, 600_000);
}
