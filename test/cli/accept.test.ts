/** What `stepmark accept` asks in a terminal, and what it makes of each answer. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readArguments } from "../../cli/command.js";
import { accept } from "../../cli/commands/accept.js";
import { check } from "../../cli/commands/check.js";
import { lookOf } from "../../cli/look.js";
import { type Ask, Questions } from "../../cli/question.js";
import { parseLock } from "../../transformer/lock/lock-file.js";
import type { LockLine } from "../../transformer/lock/lock-line.js";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "stepmark-accept-"));
  mkdirSync(path.join(folder, "src"));
  writeFileSync(path.join(folder, "tsconfig.json"), '{ "include": ["src"] }');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** @param body of the workflow */
function flow(body: string, functions = ""): void {
  writeFileSync(
    path.join(folder, "src/flow.ts"),
    `import { step, workflow } from "stepmark";
const charge = async (n: number) => n;
const mail = async (n: number) => n;
const pay = async () => step(charge, 1);
${functions}
export const w = workflow("w", async () => { ${body} });
`,
  );
}

const lockFile = (): string => path.join(folder, "stepmark.lock");
const lockText = (): string => readFileSync(lockFile(), "utf8");
const lines = (): readonly LockLine[] => parseLock(lockText(), lockFile()).lines;

interface Said {
  status: number;
  /** What was asked, each with what was shown before it. */
  asked: string[];
  printed: string[];
  warned: string[];
}

async function run(ask: Ask | undefined, command: typeof accept | typeof check = accept): Promise<Said> {
  const printed: string[] = [];
  const warned: string[] = [];
  const asked: string[] = [];
  const given = readArguments(
    ["--project", path.join(folder, "tsconfig.json"), "--root", folder],
    command.options as typeof accept.options,
  );
  const status = await command.run(given, {
    print: (line) => printed.push(line),
    warn: (line) => warned.push(line),
    look: lookOf({}),
    ask:
      ask &&
      ((question) => {
        asked.push(`${warned.at(-1)}\n${question}`);
        return ask(question);
      }),
  });
  return { status, asked, printed, warned };
}

/** Gives these answers, and then none any more. */
function answers(...each: string[]): Ask {
  return async () => each.shift();
}

const isUnclear = ({ unclear }: LockLine): boolean => unclear === true;
const isRetired = ({ retired }: LockLine): boolean => retired === true;

describe("a place that is gone while something new does its work", () => {
  beforeEach(async () => {
    flow("const a = await pay(); const b = await pay(); return [a, b];");
    await run(answers());
    // The helper is inlined at the first of its calls.
    flow("const a = await step(charge, 1); const b = await pay(); return [a, b];");
  });

  it("is shown with what may do its work, and whether it is gone for good is asked", async () => {
    const { asked, status } = await run(answers("y"));
    expect(asked).toEqual([
      "src/flow.ts  pay in w()  is gone, and this may do its work: src/flow.ts:6  charge in w()\n" +
        "    step(charge, 1)\n  Gone for good, and new work? [y/N] ",
    ]);
    expect(status).toBe(0);
  });

  it.each(["y", "Y", "yes"])("is retired on the answer %j", async (answer) => {
    const { printed, warned } = await run(answers(answer));
    expect(printed).toContain("gone      src/flow.ts  pay in w()");
    expect(warned.join()).not.toContain("unclear");
    expect(lines().filter(isRetired)).toMatchObject([{ anchor: expect.stringMatching(/^pay/), kind: "call" }]);
    expect(lines().some(isUnclear)).toBe(false);
    expect((await run(undefined, check)).status).toBe(0);
  });

  it.each(["", "n", "no", "what?"])("stays unclear on the answer %j", async (answer) => {
    const { printed, warned } = await run(answers(answer));
    expect(printed.join("\n")).toContain("unclear   src/flow.ts  pay in w()  is gone");
    expect(warned.at(-1)).toMatch(/^Runs with records of what is unclear are refused, until/);
    expect(lines().filter(isUnclear)).toMatchObject([{ anchor: expect.stringMatching(/^pay/), kind: "call" }]);
    expect(lines().some(isRetired)).toBe(false);
    expect((await run(undefined, check)).status).toBe(0);
  });

  it("is not asked about again", async () => {
    await run(answers(""));
    const { asked, status } = await run(answers());
    expect(asked).toEqual([]);
    expect(status).toBe(0);
    expect(lines().filter(isUnclear)).toHaveLength(1);
  });

  it("is left alone where the question gets no answer", async () => {
    const before = lockText();
    const { status, warned } = await run(answers());
    expect(status).toBe(1);
    expect(warned.at(-1)).toBe("Nothing was written: not all was answered.");
    expect(lockText()).toBe(before);
  });

  it("is named, and nothing written, where nobody is there to answer", async () => {
    const before = lockText();
    const { status, printed, warned } = await run(undefined);
    expect(status).toBe(1);
    expect(printed.join("\n")).toContain("unclear   src/flow.ts  pay in w()  is gone");
    expect(warned.at(-1)).toMatch(/^Nothing was written: somebody has to say/);
    expect(lockText()).toBe(before);
  });
});

describe("places that are gone", () => {
  const three = "const a = await step(charge, 1); await step(mail, 2); await step(mail, 3); return [a];";
  const anchors = (each: readonly LockLine[]): string[] => each.map(({ anchor }) => anchor).sort();
  beforeEach(async () => {
    flow(three);
    await run(answers());
    flow("const a = await step(charge, 1); return [a];");
  });

  it.each(["", "y"])("are retired, all of them, on the answer %j", async (answer) => {
    const { asked, printed } = await run(answers(answer));
    expect(asked).toEqual(["gone      src/flow.ts  mail~1 in w()\n  Are these 2 gone for good? [Y/n] "]);
    expect(printed).toContain("gone      src/flow.ts  mail in w()");
    expect(anchors(lines().filter(isRetired))).toEqual(["mail", "mail~1"]);
  });

  it("are asked about one by one if they are not all gone for good", async () => {
    const { asked } = await run(answers("n", "y", "n"));
    expect(asked.slice(1)).toEqual([
      "gone      src/flow.ts  mail in w()\n  Gone for good? [Y/n] ",
      "gone      src/flow.ts  mail~1 in w()\n  Gone for good? [Y/n] ",
    ]);
    expect(anchors(lines().filter(isRetired))).toEqual(["mail"]);
    expect(anchors(lines().filter(isUnclear))).toEqual(["mail~1"]);
  });

  it("are asked about alone if there is one", async () => {
    flow("const a = await step(charge, 1); await step(mail, 2); return [a];");
    const { asked } = await run(answers("n"));
    expect(asked).toEqual(["gone      src/flow.ts  mail~1 in w()\n  Gone for good? [Y/n] "]);
    expect(anchors(lines().filter(isUnclear))).toEqual(["mail~1"]);
  });

  it("stay in the lock file where nobody answers", async () => {
    const before = lockText();
    for (const ask of [undefined, answers(), answers("n"), answers("n", "y")]) {
      expect((await run(ask)).status).toBe(1);
      expect(lockText()).toBe(before);
    }
  });

  it("are not asked about where another place goes on with the records", async () => {
    rmSync(lockFile());
    flow("const a = await (async () => step(charge, 1))(); return [a];");
    await run(answers());
    flow("const a = await step(charge, 1); return [a];");
    const { asked, printed } = await run(answers("y"));
    expect(asked).toEqual([expect.stringMatching(/The same as before/)]);
    expect(printed).toContain("gone      src/flow.ts  fn in w()");
  });
});

describe("moves and what is unclear, in one edit", () => {
  beforeEach(async () => {
    flow("const a = await pay(); const b = await pay(); await step(mail, 3); return [a, b];");
    await run(answers());
    flow(
      "const a = await step(charge, 1); const b = await pay(); await send(); return [a, b];",
      "const send = async () => step(mail, 3);",
    );
  });

  it("are asked about one by one, moves first, and each answer is its own", async () => {
    const { asked } = await run(answers("", "y"));
    expect(asked.map((each) => each.split("\n").at(-1))).toEqual([
      "  The same as before? [Y/n] ",
      "  Gone for good, and new work? [y/N] ",
    ]);
    expect(lines().find(({ anchor }) => anchor === "mail")).toMatchObject({ bornContainer: "w()" });
    expect(lines().filter(isRetired)).toMatchObject([{ anchor: expect.stringMatching(/^pay/) }]);
  });

  it("a move that is refused is a new place, and the old one gone; what is unclear stays so", async () => {
    const tag = lines().find(({ anchor }) => anchor === "mail")!.tag;
    await run(answers("n", ""));
    expect(lines().filter(isRetired)).toMatchObject([{ anchor: "mail", container: "w()", tag }]);
    expect(lines().filter(isUnclear)).toMatchObject([{ anchor: expect.stringMatching(/^pay/) }]);
    const moved = lines().find((line) => line.container === "send{}" && line.anchor === "mail")!;
    expect(moved.tag).not.toBe(tag);
  });

  it("nothing is written unless all are answered", async () => {
    const before = lockText();
    const { status, asked } = await run(answers("y"));
    expect(asked).toHaveLength(2);
    expect(status).toBe(1);
    expect(lockText()).toBe(before);
  });
});

describe("the terminal", () => {
  it("is asked in order, also where the answers come at once", async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const questions = new Questions(input, output);
    input.end(" y \nno\n");
    expect(await questions.ask("First? ")).toBe("y");
    expect(await questions.ask("Second? ")).toBe("no");
    expect(await questions.ask("Third? ")).toBeUndefined();
    questions.close();
    output.end();
    expect(await text(output)).toBe("First? Second? Third? \n");
  });

  it("that is left gives no answer", async () => {
    const input = new PassThrough();
    const questions = new Questions(input, new PassThrough());
    const answer = questions.ask("Well? ");
    questions.close();
    expect(await answer).toBeUndefined();
  });
});
