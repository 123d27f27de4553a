/** What the lock file is to say, once it is decided which places are those of old. */
import { hash } from "node:crypto";
import { bornBy } from "./as-born.js";
import { BornNames } from "./born-names.js";
import type { Doubt } from "./doubts.js";
import { isGone, type LockLine } from "./lock-line.js";
import type { Move } from "./reconcile.js";
import { Ways } from "./routes.js";
import type { SourceFile, SourcePlace } from "./source-file.js";

/**
 * @param before the lines of the lock file
 * @param taken the places that are those of old
 * @param unclear lines of places that are gone, but perhaps not for good
 */
export function lockLines(
  before: readonly LockLine[],
  files: readonly SourceFile[],
  taken: readonly Move[],
  unclear: readonly Pick<Doubt, "line">[] = [],
): LockLine[] {
  return new Writing(before, files, taken, new Set(unclear.map(({ line }) => line))).lines();
}

/** The lines that a lock file gets. */
class Writing {
  private readonly lineOf: ReadonlyMap<SourcePlace, Move>;
  private readonly through = new Map<SourcePlace, "" | "@">();
  private readonly tags: Set<string>;
  private readonly live: readonly LockLine[];
  /** What places were called at birth, by the lock file as it was. */
  private readonly names: BornNames;
  private readonly here: ReadonlySet<string>;
  private ways: Ways<LockLine> | undefined;

  constructor(
    private readonly before: readonly LockLine[],
    private readonly files: readonly SourceFile[],
    taken: readonly Move[],
    private readonly unclear: ReadonlySet<LockLine>,
  ) {
    this.lineOf = new Map(taken.map((move) => [move.place, move]));
    for (const { route } of taken) for (const [call, how] of route?.through ?? []) this.through.set(call, how);
    this.tags = new Set(before.map(({ tag }) => tag));
    this.live = before.filter((line) => !isGone(line));
    this.names = new BornNames(this.live);
    this.here = new Set(files.map(({ path }) => path));
  }

  lines(): LockLine[] {
    const taken = new Set([...this.lineOf.values()].map(({ line }) => line));
    const gone = this.before.filter((line) => !taken.has(line)).map((line) => this.gone(line));
    const lines = this.files.flatMap((file) => this.linesOf(file, gone));
    return [...lines, ...gone];
  }

  /** A line of a place that is gone, under what it was called at birth. */
  private gone(line: LockLine): LockLine {
    if (isGone(line)) return line;
    const { kind, tag, text, rest, own, loops, heads, under } = line;
    const path = this.homeOf(line);
    const kept = { kind, tag, text, rest, own, loops, ...(loops > 0 && { heads }) };
    return {
      path,
      ...this.names.place(line),
      ...kept,
      ...(this.unclear.has(line) ? { ...(under && { under }), unclear: true } : { retired: true }),
    };
  }

  /** What is gone with its file is told by a file that is compiled: one that led there. */
  private homeOf(line: LockLine): string {
    if (this.here.has(line.path)) return line.path;
    this.ways ??= new Ways(this.live);
    const ways = this.ways.to(line).map(({ from }) => from.path);
    return ways.find((each) => this.here.has(each)) ?? this.files[0]?.path ?? line.path;
  }

  private linesOf({ path, rows, places }: SourceFile, gone: readonly LockLine[]): LockLine[] {
    const lines: LockLine[] = [];
    const written = new BornNames([]);
    // A function's line comes before those of what is in it.
    for (const place of places) {
      const move = this.lineOf.get(place);
      if (move === undefined) continue;
      const line = this.moved(move, written);
      written.add(line);
      lines.push(line);
    }
    if (lines.length === places.length) return lines;
    // New places get the names that a build would give them.
    const known = [...lines, ...gone.filter((line) => line.path === path)];
    const named = known.length === 0 ? rows : bornBy(known)(rows, (row) => places[row]!.own).rows;
    for (const place of places) {
      if (this.lineOf.has(place)) continue;
      const bornAnchor = named[place.row]![1];
      const how = this.through.get(place);
      const line: LockLine = {
        ...present(place),
        tag: this.newTag(place, bornAnchor),
        ...(bornAnchor !== place.anchor && { bornAnchor }),
        ...(how !== undefined && { through: how }),
      };
      lines.push(line);
    }
    return lines;
  }

  /** @param written what the functions around are called */
  private moved({ line, place, route }: Move, written: BornNames): LockLine {
    const born = this.names.place(line);
    const around = written.container(place.path, place.container);
    const through = this.through.get(place) ?? line.through;
    const under = route?.under ?? line.under ?? [];
    const skip = route?.skip ?? line.skip ?? 0;
    // Where the way has changed, it is the way that says which loops were there.
    const loops = route === undefined ? bornLoops(line, place) : undefined;
    return {
      ...present(place),
      tag: line.tag,
      ...(born.anchor !== place.anchor && { bornAnchor: born.anchor }),
      ...(born.container !== around && { bornContainer: born.container }),
      ...(through !== undefined && { through }),
      ...(skip > 0 && { skip }),
      ...(under.length > 0 && { under }),
      ...(loops !== undefined && { bornLoops: loops }),
    };
  }

  private newTag({ path, container, kind, text }: SourcePlace, anchor: string): string {
    for (let attempt = 0; ; attempt++) {
      const tag = hash("sha256", JSON.stringify([path, container, kind, anchor, text, attempt])).slice(0, 10);
      if (this.tags.has(tag)) continue;
      this.tags.add(tag);
      return tag;
    }
  }
}

/** Where the loops of a place's birth stand among those around it now; undefined if nothing has to be said of it. */
function bornLoops(line: LockLine, { heads }: SourcePlace): readonly number[] | undefined {
  const before = line.bornLoops ?? line.heads?.map((_, index) => index) ?? [];
  const aligned = alignLoops(line.heads ?? [], heads);
  const born = aligned === undefined ? before : before.map((index) => aligned[index] ?? lost);
  const isPlain = born.length === heads.length && born.every((each, index) => each === index);
  return isPlain ? undefined : born;
}

/** Of a loop that is gone. */
const lost = -1;

/** For each loop that was there, which one of those that are there now it is; undefined if that cannot be said. */
function alignLoops(then: readonly string[], now: readonly string[]): number[] | undefined {
  if (then.length === now.length) return then.map((_, index) => index);
  const [fewer, more] = then.length < now.length ? [then, now] : [now, then];
  const found: number[] = [];
  for (const head of fewer) found.push(more.indexOf(head, (found.at(-1) ?? -1) + 1));
  if (found.includes(-1)) return undefined;
  return fewer === then ? found : then.map((_, index) => found.indexOf(index));
}

function present(place: SourcePlace): Omit<LockLine, "tag"> {
  const { path, container, anchor, kind, text, rest, own, loops, heads, near, calls, by } = place;
  return {
    ...{ path, container, anchor, kind, text, rest, own, loops },
    ...(loops > 0 && { heads }),
    ...(near !== "" && { near }),
    ...(calls !== undefined && { calls }),
    ...(by !== undefined && { by }),
  };
}
