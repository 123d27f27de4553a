/**
 * How control comes from one function to another that stands elsewhere: by which calls. Only where there is one way, since a
 * place that is reached in two ways has two keys.
 */
import { baseOf } from "../plan/anchors.js";
import { joinContainer, type LockKind, ownerOf, splitContainer } from "./lock-line.js";
import { type Fn, group, spell } from "./match.js";

/** What is needed to know of a place to find ways: of a line of the lock file, or of the code as it is. */
export interface Station {
  readonly path: string;
  readonly kind: LockKind;
  readonly container: string;
  readonly anchor: string;
  readonly by?: string | undefined;
  readonly calls?: string | undefined;
}

export interface Leg<T> {
  readonly call: T;
  /** The function below, if it is an argument of the call. */
  readonly callback: T | undefined;
}

/** How a function is called by its name: `charge` for `Shop.charge{}`, `total` for `get total{}`; empty if it has none. */
export function calledAs({ anchor }: Pick<Station, "anchor">): string {
  return /(?:^|[. ])([^. ]*)\{\}$/.exec(baseOf(anchor))?.[1] ?? "";
}

function isInside({ path, container }: Station, fn: Fn): boolean {
  return path === fn.path && (container === fn.container || container.startsWith(`${fn.container}>`));
}

export interface Way<T> {
  readonly from: Fn;
  /** The calls that lead from there, outermost first. */
  readonly legs: Leg<T>[];
}

/** The ways to functions of one state of the code. */
export class Ways<T extends Station> {
  private readonly known = new Map<string, Way<T>[]>();

  private readonly inFunction: ReadonlyMap<string, readonly T[]>;
  private readonly calls: ReadonlyMap<string, readonly T[]>;

  constructor(stations: readonly T[]) {
    this.inFunction = group(stations, spell);
    this.calls = group(
      stations.filter(({ kind }) => kind === "call"),
      ({ anchor }) => baseOf(anchor),
    );
  }

  /** The function, and those from which it is reached, nearest first. */
  to({ path, container }: Fn): Way<T>[] {
    const key = JSON.stringify([path, container]);
    let ways = this.known.get(key);
    if (ways === undefined) {
      ways = [{ from: { path, container }, legs: [] }];
      for (let depth = 0; depth < furthest; depth++) {
        const { from, legs } = ways.at(-1)!;
        const caller = this.callerOf(from);
        if (caller === undefined) break;
        ways.push({ from: caller.from, legs: [caller.leg, ...legs] });
      }
      this.known.set(key, ways);
    }
    return ways;
  }

  /** The function around, and the call in it that leads to one; undefined at a workflow or where there is no single way. */
  private callerOf({ path, container }: Fn): { from: Fn; leg: Leg<T> } | undefined {
    const anchors = splitContainer(container);
    const anchor = anchors.pop();
    if (anchor === undefined) return undefined;
    const around: Fn = { path, container: joinContainer(anchors) };
    const beside = this.inFunction.get(spell(around)) ?? [];
    const fn = beside.find((each) => each.kind === "function" && each.anchor === anchor);
    const owner = ownerOf(anchor);
    const named = owner?.call ?? fn?.by;
    if (named !== undefined) {
      const call = beside.find((each) => each.kind === "call" && each.anchor === named);
      return call && { from: around, leg: { call, callback: owner && fn } };
    }
    const name = calledAs({ anchor });
    const calls = (this.calls.get(name) ?? []).filter((each) => !isInside(each, { path, container }));
    if (name === "" || calls.length !== 1) return undefined;
    const [call] = calls as [T];
    return { from: { path: call.path, container: call.container }, leg: { call, callback: undefined } };
  }
}

/** Functions that call themselves have no end of ways. */
const furthest = 8;
