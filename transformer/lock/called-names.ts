/** What calls were called before functions got other names: known once it is known which functions are those of old. */
import { baseOf } from "../plan/anchors.js";
import type { LockLine } from "./lock-line.js";
import { calleesOf } from "./match.js";
import { calledAs } from "./routes.js";
import type { SourcePlace } from "./source-file.js";

export class CalledNames {
  /** Functions by what they are called, then and now. */
  private readonly functionsThen: ReadonlyMap<string, readonly LockLine[]>;
  private readonly functionsNow: ReadonlyMap<string, readonly SourcePlace[]>;
  private readonly places = new Map<LockLine, SourcePlace>();

  /** @param pairs what is known by now */
  constructor(
    lines: readonly LockLine[],
    places: readonly SourcePlace[],
    private readonly pairs: ReadonlyMap<SourcePlace, LockLine>,
  ) {
    this.functionsThen = byName(lines);
    this.functionsNow = byName(places);
    for (const [place, line] of pairs) this.places.set(line, place);
  }

  /** The name that a call had. */
  of({ anchor }: Pick<SourcePlace, "anchor">): string {
    return this.before(baseOf(anchor));
  }

  /** Whether a call has the name that another had. */
  isSameName({ anchor }: LockLine, place: SourcePlace): boolean {
    return baseOf(anchor) === this.of(place);
  }

  /** Whether one of the functions that a call may be of is one of those that another was of, whatever they are named. */
  callSame(line: LockLine, place: SourcePlace): boolean {
    const then = calleesOf(line);
    return calleesOf(place).some((name) => then.includes(this.before(name)));
  }

  private before(name: string): string {
    const known = new Set((this.functionsNow.get(name) ?? []).flatMap((fn) => this.pairs.get(fn) ?? []).map(calledAs));
    return known.size === 1 ? [...known][0]! : name;
  }

  /** Whether the one is known to call something else than the other. */
  contradict(line: LockLine, place: SourcePlace): boolean {
    const [nameThen, nameNow] = [baseOf(line.anchor), baseOf(place.anchor)];
    const functionsNow = (this.functionsThen.get(nameThen) ?? []).flatMap((fn) => this.places.get(fn) ?? []);
    const functionsThen = (this.functionsNow.get(nameNow) ?? []).flatMap((fn) => this.pairs.get(fn) ?? []);
    return (
      (functionsNow.length > 0 && functionsNow.every((fn) => calledAs(fn) !== nameNow)) ||
      (functionsThen.length > 0 && functionsThen.every((fn) => calledAs(fn) !== nameThen))
    );
  }
}

function byName<T extends Pick<LockLine, "kind" | "anchor">>(stations: readonly T[]): Map<string, T[]> {
  const functions = new Map<string, T[]>();
  for (const each of stations) {
    const name = each.kind === "function" ? calledAs(each) : "";
    if (name === "") continue;
    const same = functions.get(name);
    if (same === undefined) functions.set(name, [each]);
    else same.push(each);
  }
  return functions;
}
