/** About what a library writes of a step. */
export const row = (i: number): string =>
  JSON.stringify({ key: "bench/work@500", kind: "step", state: "done", value: `[${i}]`, pad: "x".repeat(250) });
