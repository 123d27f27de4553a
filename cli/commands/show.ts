/** `stepmark show`: a run as its journal tells it. */

import { jsonView } from "../../runtime/http/json-view.js";
import { shownRun } from "../../runtime/http/shown.js";
import { fieldOf } from "../../runtime/journal/careful.js";
import { takesNoTime } from "../../runtime/journal/entry.js";
import { type CallInfo, type CallNode, callsOf, treeOf } from "../call-tree.js";
import { command, UsageError } from "../command.js";
import { cureFor } from "../cures.js";
import { cut, type Look, type Style, table, wrapped } from "../look.js";
import { isLeftBehind, plainCodec, type RunState, readField, readRun } from "../run-state.js";
import { existingStore, storeOption, using } from "../run-store.js";
import {
  clockTime,
  counted,
  errorLines,
  errorText,
  fromNow,
  lasted,
  quoted,
  statusStyle,
  valueText,
  visible,
} from "../words.js";

export const show = command({
  usage: ["show RUN [--values] [--json]", "show RUN --entries"],
  about: `Shows a run: how it stands, its calls as a tree of the scopes that their replay keys name (each with its state, how long it
took, its attempts, and its file and line), what it waits for, its child runs, what it has published, what edits of the code
did to it, and, if it has failed, the error and what helps.`,
  arguments: { RUN: "the run's id" },
  options: {
    ...storeOption,
    values: {
      type: "boolean",
      help: "with the input, the output, and what each call came to; cut to the terminal's width",
    },
    entries: { type: "boolean", help: "the journal as it is instead, an entry a line, as JSON" },
    json: { type: "boolean", help: "as data, with all values" },
  },
  async run({ values, positionals }, { print, look }) {
    const [id, ...more] = positionals;
    if (id === undefined || more.length > 0) throw new UsageError("one run has to be named");
    return using(existingStore(values.store), async (store) => {
      const state = await readRun(store, id);
      if (values.entries) for (const entry of state.entries) print(JSON.stringify(entry));
      else if (values.json) print(JSON.stringify(dataOf(state), undefined, 2));
      else for (const line of linesOf(state, look, values.values === true)) print(line);
      return 0;
    });
  },
});

function linesOf(state: RunState, look: Look, values: boolean): string[] {
  const { run, info, entries, driver } = state;
  const now = Date.now();
  const ended = info.status !== "running" && info.status !== "waiting";
  const line = (text: string): string => cut(text, look.width);
  const section = (title: string, rows: ReadonlyArray<readonly string[]>): string[] =>
    rows.length === 0 ? [] : ["", look.paint("bold", title), ...table(rows).map((row) => line(`  ${row}`))];

  const head = [
    look.paint("bold", visible(info.id)),
    visible(info.workflow),
    look.paint(statusStyle[info.status], info.status),
    `begun ${clockTime(info.createdAt)} (${fromNow(info.createdAt, now)})`,
    ended ? `ended after ${lasted(info.updatedAt - info.createdAt)}` : `last changed ${fromNow(info.updatedAt, now)}`,
  ];
  const lines = [line(head.join("  "))];
  if (driver?.alive) lines.push(`driven by process ${driver.pid} on ${visible(driver.host)}`);
  if (isLeftBehind(run, driver)) {
    const who = driver === undefined ? "Nobody drives it" : `Nobody drives it: its process ${driver.pid} has ended`;
    lines.push(
      `${who}. \`stepmark resume ${quoted(run.id)} --workflows MODULE\` goes on with it, and so does \`app.recover()\`.`,
    );
  }
  if (info.parent !== undefined)
    lines.push(line(`child of run ${visible(info.parent.id)}, by the call ${visible(info.parent.key)}`));
  if (values) lines.push(line(`input   ${encodedText(run, "input")}`));
  if (values && run.output !== undefined) lines.push(line(`output  ${valueText(readField(info, "output"))}`));

  const calls = callsOf(entries);
  lines.push("", ...treeLines(state, calls, look, values).map(line));

  lines.push(
    ...section(
      "Open waits",
      info.waits.map(({ key, name, at, since, due, ...wait }) => [
        visible(name),
        `since ${lasted(now - since)}`,
        due === undefined ? "" : `times out ${fromNow(due, now)}`,
        at ?? "",
        visible(key),
        values ? valueText(readField(wait as { payload?: unknown }, "payload")) : "",
      ]),
    ),
    ...(info.waits.length === 0
      ? []
      : [line(`  ${look.paint("gray", `answer: stepmark answer ${quoted(run.id)} ${waitWord(info.waits)} JSON`)}`)]),
    ...section(
      "Child runs",
      info.children.map(({ id, status, key }) => [visible(id), status === "open" ? "goes on" : status, visible(key)]),
    ),
    ...section(
      "Published",
      Object.getOwnPropertyNames(info.published).map((name) => [
        visible(name),
        valueText(readField(info.published, name)),
      ]),
    ),
    ...section(
      "Recorded, and not asked for when the run last ended",
      info.orphans.map((key) => [visible(key), calls.find((call) => call.key === key)?.at ?? ""]),
    ),
    ...section(
      "Answered from the record although the call's text had changed",
      info.edited.map((key) => [visible(key), calls.find((call) => call.key === key)?.at ?? ""]),
    ),
  );
  if (info.status === "failed") lines.push("", ...errorSection(state, look));
  return lines;
}

/** The error is told in full, whatever the width: it holds the cure. */
function errorSection({ run, info }: RunState, look: Look): string[] {
  const error = readField(info, "error");
  const cure = cureFor(error, run.id);
  const lines = [
    look.paint("bold", "Error"),
    ...errorLines(error).flatMap((text) => filled(text, look).map((line) => `  ${look.paint("red", line)}`)),
  ];
  if (cure !== undefined) lines.push(...filled(`On the command line: ${cure}`, look).map((line) => `  ${line}`));
  const again = `\`stepmark resume ${quoted(run.id)} --workflows MODULE\``;
  const culprits = run.culprits ?? [];
  if (culprits.length > 0) {
    lines.push(`  It comes from ${counted(culprits.length, "failed call")}, which ${again} runs again:`);
    for (const key of culprits) lines.push(`    ${visible(key)}`);
  } else if (cure === undefined) {
    lines.push(`  No failed step is known to have caused it. ${again} runs the workflow again over its record.`);
  }
  return lines;
}

/** A text that is told in full, in lines of the terminal. */
function filled(text: string, { width }: Look): string[] {
  return width === undefined ? [text] : wrapped(text, width - 2).split("\n");
}

function waitWord(waits: RunState["info"]["waits"]): string {
  const [first] = waits;
  const shared = waits.filter(({ name }) => name === first!.name).length > 1;
  return quoted(shared ? first!.key : first!.name);
}

// --- the tree --------------------------------------------------------------------------------------------------------

interface TreeRow {
  cells: string[];
  /** Lines below, under the row's branch. */
  below: string[];
}

function treeLines(state: RunState, calls: readonly CallInfo[], look: Look, values: boolean): string[] {
  const rows: TreeRow[] = [];
  const visit = (node: CallNode, lead: string, branch: string, below: string): void => {
    const name = `${look.paint("gray", lead + branch)}${visible(node.name)}`;
    const call = node.call;
    const stem = look.paint("gray", `${lead}${below}${node.children.length > 0 ? "│  " : "   "}`);
    rows.push({
      cells: call === undefined ? [name] : [name, ...callCells(state, call, look)],
      below: call === undefined ? [] : callDetails(call, look, values).map((text) => stem + text),
    });
    node.children.forEach((child, index) => {
      const last = index === node.children.length - 1;
      visit(child, lead + below, last ? "└─ " : "├─ ", last ? "   " : "│  ");
    });
  };
  const roots = treeOf(calls);
  for (const node of roots) visit(node, "", "", "");
  if (roots.length === 0) return [look.paint("gray", "Nothing is recorded yet.")];
  const lines = table(rows.map(({ cells }) => cells));
  return rows.flatMap(({ below }, index) => [lines[index]!, ...below]);
}

function callCells(state: RunState, call: CallInfo, look: Look): string[] {
  const { word, style } = stateOf(state, call);
  const took = call.endedAt === undefined || takesNoTime(call.kind) ? "" : lasted(call.endedAt - call.startedAt);
  return [look.paint(style, word), took, call.at ?? "", notesOf(state, call).join(", ")];
}

const outcomes: Readonly<Record<CallInfo["kind"], Partial<Record<CallInfo["state"], string>>>> = {
  step: {},
  wait: { begun: "waits", done: "answered" },
  timer: { begun: "sleeps", done: "slept" },
  value: { done: "recorded" },
  publish: { done: "published" },
  child: { begun: "goes on" },
  changed: { done: "decided" },
  accept: { done: "accepted" },
};

const stateStyles: Readonly<Record<CallInfo["state"], Style>> = {
  begun: "yellow",
  done: "green",
  failed: "red",
  "timed out": "magenta",
};

function stateOf({ info, driver }: RunState, { kind, state }: CallInfo): { word: string; style: Style } {
  const style = stateStyles[state];
  const isOver = info.status !== "running" && info.status !== "waiting";
  const word = isOver && state === "begun" && kind === "wait" ? "unanswered" : outcomes[kind][state];
  if (word !== undefined) return { word, style };
  if (state !== "begun") return { word: state, style };
  // Of a step whose process is gone it is not known how far its body has come.
  return info.status === "running" && driver?.alive
    ? { word: "under way", style }
    : { word: "cut off", style: "magenta" };
}

function notesOf({ info }: RunState, call: CallInfo): string[] {
  const { key, kind, state, name, attempts, failures, refused, due, child } = call;
  const now = Date.now();
  const notes: string[] = [];
  if (name !== undefined && !key.endsWith(name)) notes.push(visible(name));
  if (child !== undefined) notes.push(`run ${visible(child)}`);
  if (attempts > 1) notes.push(`${attempts} attempts`);
  if (failures > 0) notes.push(`failed ${failures === 1 ? "once" : `${failures} times`} before`);
  if (refused > 0) notes.push(`${counted(refused, "answer")} refused`);
  if (state === "begun" && due !== undefined)
    notes.push(kind === "timer" ? `until ${fromNow(due, now)}` : `times out ${fromNow(due, now)}`);
  if (key === misfitOf(info)) notes.push("does not fit");
  else if (info.orphans.includes(key)) notes.push("orphan");
  if (info.edited.includes(key)) notes.push("edited");
  return notes;
}

/** The recorded call that did not fit the code, where that is why the run failed. */
function misfitOf(info: RunState["info"]): unknown {
  if (info.status !== "failed") return undefined;
  return fieldOf(Object(fieldOf(Object(readField(info, "error")), "recorded")), "key");
}

function callDetails(call: CallInfo, look: Look, values: boolean): string[] {
  if (call.value === undefined || call.kind === "timer" || call.state === "timed out") return [];
  if (call.state === "failed") return [look.paint("red", errorText(decodedValue(call.value)))];
  return values ? [look.paint("gray", valueText(decodedValue(call.value)))] : [];
}

function decodedValue(text: string): unknown {
  try {
    return plainCodec.decode(text);
  } catch (error) {
    return error;
  }
}

function encodedText(run: RunState["run"], field: "input"): string {
  const text = readField(run, field);
  return typeof text === "string" ? valueText(decodedValue(text)) : errorText(text);
}

// --- as data ---------------------------------------------------------------------------------------------------------

function dataOf({ run, info, entries, driver }: RunState): unknown {
  const calls = callsOf(entries).map(({ value, ...call }) => ({
    ...call,
    ...(value !== undefined && { [call.state === "failed" ? "error" : "value"]: decodedValue(value) }),
  }));
  const input = readField(run, "input");
  return jsonView({
    ...shownRun(info),
    ...(driver !== undefined && { driver }),
    input: typeof input === "string" ? decodedValue(input) : input,
    culprits: run.culprits ?? [],
    calls,
  });
}
