/** What must be true of each process's life, of the journal that it leaves, and of lives that share a journal. */
import type { Codec, MemoryStore } from "stepmark";
import { streamName } from "./print.js";
import type { Observed, Recorded } from "./process.js";
import type { Traits } from "./program.js";
import type { BodyNote, Given, Outside, StreamMessage } from "./world.js";

/** What cuts a run's bodies off. */
const interruptions = new Set<string | undefined>(["STORE", "SHUTDOWN", "RUN_CANCELLED"]);

/** What holds of a life by itself. */
export function faultsOf(life: Observed, given: Traits): string[] {
  const { companion, children } = life;
  const others = companion === undefined ? [] : faultsOf(companion, given).map((fault) => `the other run: ${fault}`);
  return [
    ...life.wrong,
    ...others,
    ...children.flatMap((child) => faultsOfRun(child, given).map((fault) => `the child run ${child.id}: ${fault}`)),
    ...(life.status === "stuck" ? ["nothing can happen any more, but the run has not ended"] : []),
    ...faultsOfRun(life, given),
    ...eventFaults(life),
  ];
}

function faultsOfRun(run: Observed, given: Traits): string[] {
  const traits = isExhausted(run.after) ? { ...given, crashes: true } : given;
  return [...journalFaults(run), ...orderFaults(run, traits), ...bodyFaults(run, traits)];
}

/** A call of `child` has begun one run, and that is where the call's entries say. */
export async function familyFaults(memory: MemoryStore): Promise<string[]> {
  const children = (await memory.list({})).filter(({ parent }) => parent !== undefined);
  const faults = repeated(children.map(({ parent }) => `${parent!.id}, ${parent!.key}`)).map(
    (call) => `two runs were begun by one call: ${call}`,
  );
  for (const { id, parent } of children) {
    const calls = (await memory.entries(parent!.id)).filter(({ key }) => key === parent!.key);
    if (calls.length === 0) faults.push(`${id} was begun by a call that is not recorded`);
    else if (calls.some(({ child }) => child !== id))
      faults.push(`the call of ${id} is recorded as that of another run`);
  }
  return faults;
}

/** No message to a stream was passed over. */
export async function streamFaults(memory: MemoryStore, outside: Outside, { decode }: Codec): Promise<string[]> {
  const faults: string[] = [];
  for (const { id } of await memory.list({})) {
    const unread = await memory.inbox(id);
    for (const { kind, state, name, value } of await memory.entries(id)) {
      if (kind !== "wait" || state !== "done" || !name!.startsWith(streamName)) continue;
      const { draw } = decode(value!) as StreamMessage;
      const number = outside.posted.get(draw)!;
      const before = unread.filter((message) => message.target === name && message.number < number);
      if (before.length > 0) faults.push(`message ${before[0]!.number} to ${name} was passed over`);
    }
  }
  return faults;
}

/** Numbers without gaps; what was there stays; one success for each key. */
function journalFaults({ before, after }: Observed): string[] {
  const faults: string[] = [];
  after.forEach(({ seq }, index) => {
    if (seq !== index + 1) faults.push(`entry ${index + 1} has the number ${seq}`);
  });
  before.forEach((entry, index) => {
    if (JSON.stringify(after[index]) !== JSON.stringify(entry)) faults.push(`entry ${index + 1} has changed`);
  });
  const done = after.filter(({ state }) => state === "done").map(({ key }) => key);
  for (const key of repeated(done)) faults.push(`two outcomes for ${key}`);
  return faults;
}

/** Code is given the outcomes in the order of the journal, each only once it is there. */
function orderFaults({ given, after }: Observed, traits: Traits): string[] {
  const passes = new Set(given.map(({ pass }) => pass));
  return [...passes].flatMap((number) =>
    orderFaultsOf(
      given.filter(({ pass }) => pass === number),
      after,
      traits,
    ),
  );
}

function orderFaultsOf(given: readonly Given[], after: readonly Recorded[], { crashes }: Traits): string[] {
  const seen = given.filter(({ inside }) => !inside).map(({ text }) => text);
  // The code does not note answers of `changed`: all calls of an id get one, and some get it late.
  const recorded = outcomes(after)
    .filter(({ within, kind }) => within === undefined && kind !== "changed")
    .map(({ text }) => text);
  // A failure that is run again gets another place in the order.
  if (crashes) {
    const all = new Set(recorded);
    return seen.filter((text) => !all.has(text)).map((text) => `given but not recorded: ${text}`);
  }
  const wrong = seen.findIndex((text, index) => text !== recorded[index]);
  return wrong < 0 ? [] : [`outcome ${wrong + 1} given is ${seen[wrong]}, recorded is ${recorded[wrong]}`];
}

/** Each body runs once, none whose outcome was recorded, and what a body has finished is recorded. */
function bodyFaults(
  { bodies, before, after, status, error, storeFailed }: Observed,
  { crashes, renews }: Traits,
): string[] {
  const again = crashes || renews;
  const faults: string[] = [];
  // What the store has not kept of a child run is done again when its parent takes it up again.
  const attempts = ({ attempt, pass }: BodyNote): string =>
    `attempt ${attempt}${storeFailed ? ` of pass ${pass}` : ""}`;
  // What failed in a step's body starts over in the next attempt of that step.
  const once = bodies.filter(({ failed }) => !failed || !again);
  for (const name of repeated(once.map((note) => `${note.key} (${attempts(note)})`))) faults.push(`${name} ran twice`);
  for (const name of repeated(once.filter(hasLabel).map((note) => `${note.label} (${attempts(note)})`)))
    faults.push(`the body of ${name} ran twice`);
  const recorded = outcomes(before).filter(({ state }) => state === "done" || !again);
  const keys = new Set(recorded.map(({ key }) => key));
  const labels = new Set(recorded.map(({ label }) => label));
  for (const { key, label } of bodies)
    if (keys.has(key) || (label !== undefined && labels.has(label))) faults.push(`${label ?? key} ran again`);
  // Without a death, a failing store, a shutdown or a cancellation nothing that was finished gets lost.
  if (status !== "died" && status !== "left" && !interruptions.has(error?.code)) {
    const kept = new Set(outcomes(after).map(({ key }) => key));
    for (const { key, label, ended, timed } of bodies)
      if (ended && !timed && !kept.has(key)) faults.push(`${label ?? key} has finished and is not recorded`);
  }
  return faults;
}

function eventFaults({ events, after, status }: Observed): string[] {
  const faults: string[] = [];
  events
    .filter(({ seq }) => seq !== undefined)
    .forEach(({ seq, key }, index) => {
      if (seq !== index + 1) faults.push(`event ${index + 1} is of entry ${seq}`);
      if (after[index]?.key !== key) faults.push(`event ${index + 1} is of ${key}, the entry of ${after[index]?.key}`);
    });
  if (status === "completed") {
    if (events.at(-1)?.type !== "run.completed") faults.push(`the last event is ${events.at(-1)?.type}`);
    if (events.filter(({ seq }) => seq !== undefined).length !== after.length) faults.push("events are missing");
  }
  return faults;
}

/**
 * What a later life must have in common with an earlier one, whose journal it has got `kept` entries of.
 *
 * @param traits of the program
 */
export function faultsBetween(first: Observed, later: Observed, traits: Traits): string[] {
  const faults: string[] = [];
  const owners = new Map(first.given.map(({ label, text }) => [text, label]));
  for (const { label, text } of later.given) {
    const owner = owners.get(text);
    // Calls without arguments go by their place, and which item a worker takes there depends on the order of things.
    if (traits.edited && traits.moves) break;
    // Two calls of one text and without arguments that have changed places are still two calls of that text.
    if (traits.swapped && isDraw(text)) continue;
    if (owner !== undefined && owner !== label && isUnique(text))
      faults.push(`${label} got what ${owner} had got: ${text}`);
  }
  for (const child of later.children) {
    const before = first.children.find(({ id }) => id === child.id);
    if (before === undefined || traits.moves || traits.edited) continue;
    faults.push(...faultsBetween(before, child, traits).map((fault) => `the child run ${child.id}: ${fault}`));
  }
  if (first.status !== "completed" || later.status !== "completed" || traits.ordered) return faults;
  if (isExhausted(later.after)) return faults;
  const [one, other] = [structure(first.result), structure(later.result)];
  if (one !== other) faults.push(`another result: first ${one}, later ${other}`);
  if (traits.crashes) return faults;
  const [calls, laterCalls] = [first, later].map(({ after }) => callsOf(after, traits));
  if (calls !== laterCalls) faults.push(`other calls: first\n${calls}\nlater\n${laterCalls}`);
  return faults;
}

/** The calls that have outcomes, by key; or by label, where keys depend on the order of things. */
function callsOf(entries: readonly Recorded[], { moves }: Traits): string {
  const calls = new Map(outcomes(entries).map((entry) => [entry.key, entry]));
  return [...calls.values()]
    .map(({ kind, key, label }) => `${kind} ${moves ? label : key}`)
    .sort()
    .join("\n");
}

/** A replay of a whole journal: the same result, and no body. */
export function faultsOfFullReplay(first: Observed, again: Observed): string[] {
  const faults: string[] = [];
  if (again.bodies.length > 0) faults.push(`a whole journal was replayed and ${names(again.bodies)} ran`);
  if (again.status !== "completed")
    faults.push(`a whole journal was replayed and ended as ${again.status}: ${again.error?.message}`);
  else if (JSON.stringify(first.result) !== JSON.stringify(again.result))
    faults.push(
      `another result from a whole journal: ${JSON.stringify(first.result)}, then ${JSON.stringify(again.result)}`,
    );
  if (again.after.length > again.before.length) faults.push("a replay of a whole journal wrote entries");
  return faults;
}

/** A crash in the middle of a last attempt uses it up: the step fails although its body would not have. */
function isExhausted(entries: readonly Recorded[]): boolean {
  return outcomes(entries).some(({ text }) => text.startsWith("!All "));
}

function outcomes(entries: readonly Recorded[]): Recorded[] {
  return entries.filter(({ state }) => state === "done" || state === "failed");
}

function hasLabel({ label }: BodyNote): boolean {
  return label !== undefined;
}

function names(bodies: readonly BodyNote[]): string {
  return bodies.map(({ label, key }) => label ?? key).join(", ");
}

function isDraw(text: string): boolean {
  return text.startsWith('{"draw"');
}

/** Timers give nothing, and the clock may give the same time twice. */
function isUnique(text: Given["text"]): boolean {
  return text.includes('"draw"');
}

/** A result without what differs from one execution to another. */
function structure(value: unknown): string {
  return JSON.stringify(value, (name, part) => {
    if (name === "draw" || name === "read") return undefined;
    if (typeof part === "number") return "number";
    // Which of two failures came first may differ.
    if (typeof part === "string" && part.startsWith("crash ")) return "crash";
    return typeof part === "string" && /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(part) ? "uuid" : part;
  });
}

function repeated(names: readonly string[]): string[] {
  const seen = new Set<string>();
  return names.filter((name) => seen.size === seen.add(name).size);
}
