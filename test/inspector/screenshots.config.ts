/** `npm run screenshots`: pictures of the inspector, in a folder that is not committed. */
import base from "../../vitest.config.js";

export default {
  ...base,
  test: { ...base.test, include: ["test/inspector/screenshots.ts"], testTimeout: 120_000 },
};
