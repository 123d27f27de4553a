/** `stepmark doctor`: whether a project is set up so that its runs can be recorded, and resumed. */
import path from "node:path";
import process from "node:process";
import { LockFileError, TransformerOptionsError } from "../../transformer/errors.js";
import { command } from "../command.js";
import { checkBuild } from "../doctor/build.js";
import { error, type Finding, ok, warning } from "../doctor/finding.js";
import { checkHosts } from "../doctor/hosts.js";
import { checkCompiler, checkNode, checkStepmark } from "../doctor/packages.js";
import { checkStore } from "../doctor/store.js";
import { lockDifferences } from "../lock-differences.js";
import { type Look, type Style, wrapped } from "../look.js";
import { ApartError, type ProjectArguments, projectOptions, readSources } from "../project.js";
import { storeOption } from "../run-store.js";
import { counted } from "../words.js";

export const doctor = command({
  usage: ["doctor [--build FOLDER]... [--store FILE] [--json]"],
  about: `Looks at a project: versions that fit together, one stepmark, what applies the transformer (the plugin in tsconfig.json,
bundlers' configurations, scripts), the lock file, the store, and, of builds that are named, whether they hold steps that were
not transformed. Each is ok, a warning or an error, with the cure. Nothing is changed, and nothing of the project is run.`,
  options: {
    build: {
      type: "string",
      multiple: true,
      value: "FOLDER",
      help: "what a build has written: is looked through for steps that were not transformed",
    },
    ...storeOption,
    ...projectOptions,
    json: { type: "boolean", help: "as data" },
  },
  ends: "Ends with 1 if there are errors.",
  async run({ values }, { print, look }) {
    const folder = process.cwd();
    const { findings: hosts, usesCompiler } = checkHosts(folder, values.project);
    const findings = [
      checkNode(),
      ...checkStepmark(folder),
      ...(usesCompiler ? checkCompiler(folder) : []),
      ...hosts,
      ...(values.build ?? []).map(checkBuild),
      checkLock(values),
      ...(await checkStore(values.store)),
    ];
    if (values.json) print(JSON.stringify(findings, undefined, 2));
    else for (const line of linesOf(findings, look)) print(line);
    return findings.some(({ level }) => level === "error") ? 1 : 0;
  },
});

function checkLock(given: ProjectArguments): Finding {
  try {
    const { lock, lockFile, files } = readSources(given);
    const of = path.basename(lockFile);
    const places = files.reduce((all, file) => all + file.places.length, 0);
    if (lock === undefined)
      return ok(of, "there is none; with one, edits keep the records of runs in flight (docs/lock-file.md)");
    const lines = lockDifferences(lock, files);
    if (lines.length === 0) return ok(of, `${counted(places, "place")}, as the code has them`);
    const what = `differs from the code in ${counted(lines.length, "place")}`;
    return warning(of, what, "`stepmark check` tells which, and `stepmark accept` brings them together.");
  } catch (fault) {
    if (fault instanceof TransformerOptionsError)
      return warning("stepmark.lock", "is not compared, since the options are wrong", "Correct the options first.");
    if (fault instanceof ApartError)
      return warning("stepmark.lock", `is not compared: ${fault.message}`, "See docs/hosts.md, on workspaces.");
    if (!(fault instanceof LockFileError)) throw fault;
    return error("stepmark.lock", fault.message, "See docs/lock-file.md.");
  }
}

const styles: Readonly<Record<Finding["level"], Style>> = { ok: "green", warning: "yellow", error: "red" };

function linesOf(findings: readonly Finding[], look: Look): string[] {
  const first = Math.max(...findings.map(({ level }) => level.length));
  const second = Math.max(...findings.map(({ of }) => of.length));
  const indent = " ".repeat(first + second + 4);
  const width = Math.max(40, (look.width ?? Number.POSITIVE_INFINITY) - indent.length);
  const fill = (text: string): string => wrapped(text, width).replaceAll("\n", `\n${indent}`);
  return findings.flatMap(({ level, of, what, cure }) => [
    `${look.paint(styles[level], level.padEnd(first))}  ${of.padEnd(second)}  ${fill(what)}`,
    ...(cure === undefined ? [] : [`${indent}${fill(`-> ${cure}`)}`]),
  ]);
}
