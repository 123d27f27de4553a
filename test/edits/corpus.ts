/** The cases: each flow with each kind of edit, at some of the places where it can be made; and pairs of edits. */
import { seeded } from "../support/schedule.js";
import type { Edit } from "./edits/editing.js";
import { edited } from "./edits/editing.js";
import { edits } from "./edits/index.js";
import type { Flow, Project } from "./project.js";

export interface Case {
  readonly flow: string;
  readonly family: string;
  readonly edit: string;
  /** Where it is made: the number of the place. */
  readonly where: string;
  readonly before: Project;
  /** Of a pair of edits: the code after the first. Its lock file is that of before the second. */
  readonly between?: Project;
  readonly after: Project;
}

export interface CorpusOptions {
  readonly seed: number;
  /** At most so many places for a kind of edit in a flow. */
  readonly places: number;
  /** So many pairs of edits in each flow. */
  readonly pairs: number;
  /** Part of the name of flows or kinds of edits. */
  readonly only?: string | undefined;
}

/** Families whose edits are made backwards too. */
const reversible = new Set(["helper", "structure", "classes", "move", "arguments", "key", "choice", "durable"]);

export async function* corpus(flows: readonly Flow[], options: CorpusOptions): AsyncGenerator<Case> {
  for (const flow of flows) {
    for (const edit of edits) yield* withEdit(flow, edit, options);
    yield* withPairs(flow, options);
  }
}

/** Each kind of edit once, each in another flow than the one before, as far as it can be made there. */
export async function* oneOfEach(flows: readonly Flow[], seed: number): AsyncGenerator<Case> {
  for (const [index, edit] of edits.entries()) {
    const turned = flows.map((_, number) => flows[(index + number) % flows.length]!);
    const flow = turned.find((each) => edit.places(each).length > 0);
    if (flow !== undefined) yield* withEdit(flow, edit, { seed, places: 1 });
  }
}

async function* withEdit(
  flow: Flow,
  edit: Edit,
  { seed, places, only }: Omit<CorpusOptions, "pairs">,
): AsyncGenerator<Case> {
  const isAskedFor = (name: string): boolean =>
    only === undefined || only === edit.family || name.includes(only) || flow.name.includes(only);
  const back = `${edit.name}, undone`;
  if (!isAskedFor(edit.name) && !isAskedFor(back)) return;
  const found = [...edit.places(flow).entries()];
  const chosen = sample(found, places, seeded(seed + hash(`${flow.name} ${edit.name}`)));
  for (const [number, place] of chosen) {
    const after = await edited(flow, edit, place);
    const of = { flow: flow.name, where: `${number}` };
    if (isAskedFor(edit.name)) yield { ...of, family: edit.family, edit: edit.name, before: flow, after };
    if (reversible.has(edit.family) && isAskedFor(back))
      yield { ...of, family: edit.family, edit: back, before: after, after: flow };
  }
}

/** Pairs after which nobody could say what is the same: something is gone, and its like is new. */
function contradict(one: Edit, two: Edit): boolean {
  const families = [one.family, two.family];
  return families.includes("delete") && (families.includes("insert") || one.family === two.family);
}

async function* withPairs(flow: Flow, { seed, pairs, only }: CorpusOptions): AsyncGenerator<Case> {
  if (only !== undefined && !"pair".includes(only) && !flow.name.includes(only)) return;
  const next = seeded(seed + hash(flow.name));
  const pick = <T>(from: readonly T[]): T | undefined => from[Math.floor(next() * from.length)];
  for (let made = 0, tries = 0; made < pairs && tries < pairs * 10; tries++) {
    const one = pick(edits)!;
    const two = pick(edits)!;
    if (contradict(one, two)) continue;
    const first = pick([...one.places(flow).entries()]);
    if (first === undefined) continue;
    const middle = await edited(flow, one, first[1]);
    const second = pick([...two.places(middle).entries()]);
    if (second === undefined) continue;
    made++;
    const where = `${one.name} ${first[0]}, ${two.name} ${second[0]}`;
    const after = await edited(middle, two, second[1]);
    const edit = `${one.family} and ${two.family}`;
    yield { flow: flow.name, family: "pairs", edit, where, before: flow, between: middle, after };
  }
}

export function sample<T>(items: readonly T[], most: number, next: () => number): T[] {
  const left = [...items];
  const chosen: T[] = [];
  while (chosen.length < most && left.length > 0) chosen.push(...left.splice(Math.floor(next() * left.length), 1));
  return chosen;
}

export function hash(text: string): number {
  let value = 0;
  for (const char of text) value = (Math.imul(value, 31) + char.charCodeAt(0)) | 0;
  return value >>> 0;
}
