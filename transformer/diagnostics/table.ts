/** All diagnostics: their codes, how they are called in the documentation, and the cure that ends each message. */

export interface Kind {
  /** Heading of its section in docs/diagnostics.md. */
  readonly title: string;
  readonly cure: string;
  /** Whether it is only given when asked for by its code. */
  readonly quiet?: true;
}

const direct = "Import it and call it directly, or give the step an explicit `key`.";
const recorded = "Take it from a recorded call";

/** 1xxx: identity, 2xxx: awaiting, 3xxx: determinism, 4xxx: state, 5xxx: options, 6xxx: files, 7xxx: hints, 8xxx: builds. */
export const kinds = {
  STEPMARK1001: { title: "Step used as a value", cure: `A call through the value has no place in the code. ${direct}` },
  STEPMARK1002: { title: "call, apply or bind", cure: `Such a call has no place in the code. ${direct}` },
  STEPMARK1003: { title: "Neither new nor a template tag", cure: "Call it with parentheses: `await step(fn)`." },
  STEPMARK1004: {
    title: "A name that may stand for something else",
    cure: "Use the import's own name, or a `const` that stands for nothing else.",
  },
  STEPMARK1005: {
    title: "import().then",
    cure: 'Import it at the top of the file, or `const { step } = await import("stepmark")`.',
  },
  STEPMARK1006: { title: "Inside with", cure: "Move the call out of the `with`, where no name has a certain meaning." },
  STEPMARK1007: {
    title: "eval in a workflow",
    cure: "Steps in evaluated text have no identity. Write the code out, or evaluate it inside a step.",
  },
  STEPMARK1008: {
    title: "Re-exported step",
    cure: 'Calls through a re-export have no identity: let each file import what it calls from "stepmark".',
  },
  STEPMARK1009: {
    title: "Step reached in a way that cannot be followed",
    cure: `The transformer finds steps by their import. ${direct}`,
  },
  STEPMARK2001: {
    title: "Nobody awaits it",
    cure: "Await or return it, or write `void` before it if the workflow need not know how it ends.",
  },
  STEPMARK2002: {
    title: "Not awaited on every path",
    cure: "Await it on that path too, start it later, or write `void` and its name where it is given up.",
  },
  STEPMARK2003: {
    title: "forEach does not wait",
    cure: "Use `for (const item of items)`, or `await Promise.all(items.map(...))`.",
  },
  STEPMARK2004: {
    title: "A promise is no answer",
    cure: "It is true whatever comes of it. Await it first; for `filter` and its like, await all answers before: `await Promise.all(items.map(...))`.",
  },
  STEPMARK3001: {
    title: "Time",
    cure: `It differs when the run is resumed. ${recorded}: \`await now()\` or \`await step(() => ...)\`.`,
  },
  STEPMARK3002: {
    title: "Randomness",
    cure: `It differs when the run is resumed. ${recorded}: \`await random()\`, \`await uuid()\` or \`await step(() => ...)\`.`,
  },
  STEPMARK3003: {
    title: "Environment",
    cure: "The process that resumes the run may have another. Pass it in the workflow's input, or read it inside a step.",
  },
  STEPMARK3004: {
    title: "Raw timer",
    cure: "It is not recorded and starts over when the run is resumed. Use `await sleep(...)`, or put it inside a step.",
  },
  STEPMARK3005: {
    title: "Raw I/O",
    cure: "It is not recorded and happens again when the run is resumed. Put it inside a step: `await step(() => ...)`.",
  },
  STEPMARK4001: {
    title: "Step that changes a variable around it",
    cure: "When the run is resumed the step's outcome comes from the record and its body does not run, so the change is lost. Return the value, and change the variable outside the step.",
  },
  STEPMARK4002: {
    title: "Method without its object",
    cure: "Inside it `this` is undefined. Give a function that calls it: `step(() => api.charge(card))`.",
  },
  STEPMARK5001: { title: "Empty key", cure: "Give a text that is unique in the run, or leave `key` out." },
  STEPMARK5002: {
    title: "Key given twice",
    cure: "A key belongs to one call of a run. Give each call one of its own.",
  },
  STEPMARK5003: {
    title: "One key in a loop",
    cure: "A key belongs to one call of a run. Make it of the item, or leave it out.",
  },
  STEPMARK5004: {
    title: "Unknown option",
    cure: "The options are name, key, retries, backoff, retryIf, timeout, deadline and executor.",
  },
  STEPMARK5005: {
    title: "Name that is no literal",
    cure: "A call is named when it is compiled. Write a literal, or leave `name` out; what is only known at run time can be a `key`.",
  },
  STEPMARK5006: {
    title: "Keys of items that get lost",
    cure: "Filter and sort before, and write `keyed` in the head of the `for-of` or before `.map(...)`: `for (const item of keyed(items.filter(...), by))`.",
  },
  STEPMARK6001: {
    title: "Function that leads to steps in a file that is not transformed",
    cure: 'Name the file in the `include` option, or import "stepmark" in it.',
  },
  STEPMARK6002: {
    title: "Function with steps handed to a file that is not transformed",
    cure: "If it is called twice at once, only timing tells the calls apart. Name the file in the `include` option, or pass a function made here: `(x) => f(x)`.",
  },
  STEPMARK7001: {
    title: "Calls that only their order tells apart",
    cure: 'An edit that adds or removes one of them is refused by recorded runs. Give each a name: `step("first", ...)`.',
    quiet: true,
  },
  STEPMARK8001: {
    title: "Incremental build without the program hook",
    cure: 'Other options, or another version of stepmark, would leave old output in place. Add `"transformProgram": true` to the plugin\'s entry.',
  },
} as const satisfies Record<string, Kind>;

export type DiagnosticCode = keyof typeof kinds;

export function isCode(text: string): text is DiagnosticCode {
  return Object.hasOwn(kinds, text);
}
