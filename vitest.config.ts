import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { stepmarkPlugin } from "./test/support/stepmark-plugin.js";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  plugins: [stepmarkPlugin()],
  resolve: {
    alias: [
      { find: /^stepmark$/, replacement: here("./runtime/index.ts") },
      { find: /^stepmark\/sqlite$/, replacement: here("./runtime/stores/sqlite.ts") },
      { find: /^stepmark\/postgres$/, replacement: here("./runtime/stores/postgres.ts") },
      { find: /^stepmark\/graphile$/, replacement: here("./runtime/work/graphile/queue.ts") },
      { find: /^stepmark\/restate$/, replacement: here("./runtime/executor/restate/index.ts") },
      { find: /^stepmark\/telemetry$/, replacement: here("./runtime/telemetry/open-telemetry.ts") },
      { find: /^stepmark\/testing$/, replacement: here("./runtime/testing/index.ts") },
      { find: /^stepmark\/transformer$/, replacement: here("./transformer/index.ts") },
      { find: /^stepmark\/transform$/, replacement: here("./transformer/transform-text.ts") },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    // They need a server: `npm run test:postgres`.
    exclude: ["test/{postgres,work}/**", "test/storm/storm.test.ts"],
    testTimeout: 20_000,
    expect: { poll: { timeout: 15_000 } },
    reporters: ["default", here("./test/support/closing-line.ts")],
  },
});
