/** Runs all that one test gives rise to and says where the transformed code differs. */
import { byNodes, byText, type Share } from "./instrument.js";
import { type Variant, variantsOf } from "./programs.js";
import { type Program, run, type Surroundings } from "./realm.js";
import { readTest, type TestFile } from "./suite.js";

export interface Difference {
  readonly path: string;
  /** Mode, applier, and whether in a run. */
  readonly how: string;
  readonly outcome: string;
}

export interface TestResult {
  readonly path: string;
  /** Programs that pass as they stand, and so count. */
  readonly counted: number;
  /** Programs that do not: Node lacks something, or they cannot stand in a function. */
  readonly failing: number;
  /** Runs of transformed programs. */
  readonly runs: number;
  /** Programs in which there is nothing to do, or that have an error. */
  readonly leftAlone: number;
  /** Programs that TypeScript's parser rejects, or its printer takes for something else, without us. */
  readonly notParsed: number;
  readonly notPrinted: number;
  readonly share?: Share;
  readonly differences: readonly Difference[];
}

interface Count {
  counted: number;
  failing: number;
  runs: number;
  leftAlone: number;
  notParsed: number;
  notPrinted: number;
  share?: Share;
  differences: Difference[];
}

export async function compare(path: string, surroundings: Surroundings): Promise<TestResult> {
  const test = readTest(surroundings.suite, path);
  const count: Count = { counted: 0, failing: 0, runs: 0, leftAlone: 0, notParsed: 0, notPrinted: 0, differences: [] };
  const variants = variantsOf(test);
  for (const variant of surroundings.quick ? variants.slice(-1) : variants)
    await compareVariant(test, variant, surroundings, count);
  return { path, ...count };
}

async function compareVariant(
  test: TestFile,
  { name, code }: Variant,
  surroundings: Surroundings,
  count: Count,
): Promise<void> {
  const outcomeOf = (transform: Program["transform"], inRun: boolean): Promise<string> =>
    run({ test, code: transform(code), transform, inRun }, surroundings);
  const judge = async (how: string, transform: Program["transform"], inRun: boolean): Promise<void> => {
    count.runs++;
    const outcome = await attempt(() => outcomeOf(transform, inRun));
    if (outcome !== "pass") count.differences.push({ path: test.path, how: `${name}; ${how}`, outcome });
  };
  if ((await attempt(() => outcomeOf((text) => text, false))) !== "pass") {
    count.failing++;
    return;
  }
  count.counted++;
  const edited = byText(code);
  if (edited === "nothing to do") count.leftAlone++;
  else if (edited === "rejected") count.notParsed++;
  else {
    // The last variant is the one with most to instrument.
    count.share = edited.share;
    const transform = (text: string): string => {
      const made = text === code ? edited : byText(text);
      return typeof made === "string" ? text : made.code;
    };
    await judge("text, in a run", transform, true);
    if (name.includes("function") && !surroundings.quick) await judge("text, outside runs", transform, false);
  }
  const before = count.differences.length;
  await judge("nodes, in a run", (text) => byNodes(text, true), true);
  if (count.differences.length === before) return;
  if ((await attempt(() => outcomeOf((text) => byNodes(text, false), false))) === "pass") return;
  count.differences.pop();
  count.notPrinted++;
}

/** An error of ours is a difference like any other. */
async function attempt(work: () => Promise<string>): Promise<string> {
  try {
    return await work();
  } catch (error) {
    return `fail in transformer: ${error instanceof Error ? error.stack : String(error)}`;
  }
}
