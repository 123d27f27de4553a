/** What a run of the suite came to, as text. */
import type { Difference, TestResult } from "./compare.js";
import type { Exception } from "./exceptions.js";
import type { Share } from "./instrument.js";

/** @returns whether there is a difference that no exception names, or nothing to tell any by */
export function printReport(
  results: readonly TestResult[],
  exceptions: readonly Exception[],
  { most, milliseconds }: { most: number; milliseconds: number },
): boolean {
  const sum = (of: (result: TestResult) => number): number => results.reduce((total, result) => total + of(result), 0);
  const number = (value: number): string => value.toLocaleString("en");
  const share = (name: keyof Share): string => {
    const done = sum((result) => result.share?.[name][0] ?? 0);
    const all = sum((result) => result.share?.[name][1] ?? 0);
    return `${number(done)} of ${number(all)} ${name} (${((100 * done) / Math.max(1, all)).toFixed(1)} %)`;
  };
  const named = (difference: Difference): Exception | undefined =>
    exceptions.find(({ paths }) => paths.test(difference.path));
  const differences = results.flatMap((result) => result.differences);
  const unnamed = differences.filter((difference) => named(difference) === undefined);

  console.log(`Node ${process.version}, ${number(results.length)} files in ${Math.round(milliseconds / 1000)} s`);
  console.log(`programs that pass as they stand: ${number(sum(({ counted }) => counted))}`);
  console.log(`programs that do not, and do not count: ${number(sum(({ failing }) => failing))}`);
  console.log(`runs of transformed programs: ${number(sum(({ runs }) => runs))}`);
  console.log(`left alone, since there is nothing to do: ${number(sum(({ leftAlone }) => leftAlone))}`);
  console.log(`left alone, since TypeScript's parser rejects them: ${number(sum(({ notParsed }) => notParsed))}`);
  console.log(
    `not compared on nodes, since TypeScript alone changes them: ${number(sum(({ notPrinted }) => notPrinted))}`,
  );
  console.log(`instrumented: ${share("functions")}, ${share("calls")}, ${share("loops")}`);
  console.log(`differences: ${unnamed.length}, in ${new Set(unnamed.map(({ path }) => path)).size} files`);
  for (const exception of exceptions) {
    const of = differences.filter((difference) => named(difference) === exception);
    console.log(
      `known: ${of.length} differences in ${new Set(of.map(({ path }) => path)).size} files: ${exception.reason}`,
    );
  }
  for (const [kind, all] of kindsOf(unnamed)) {
    console.log(`\n${all.length} x ${kind}`);
    for (const { path, how, outcome } of all.slice(0, most))
      console.log(`  ${path} (${how}): ${outcome.slice(0, 300)}`);
  }
  const compared = sum(({ counted }) => counted);
  if (compared === 0) console.log("\nNot one program passes as it stands: nothing was compared.");
  return unnamed.length > 0 || compared === 0;
}

/** By folder, the most first. */
function kindsOf(differences: readonly Difference[]): [string, Difference[]][] {
  const kinds = new Map<string, Difference[]>();
  for (const difference of differences) {
    const kind = difference.path.split("/").slice(0, 3).join("/");
    kinds.set(kind, [...(kinds.get(kind) ?? []), difference]);
  }
  return [...kinds].sort(([, a], [, b]) => b.length - a.length);
}
