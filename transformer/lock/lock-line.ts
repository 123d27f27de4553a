/** One line of the lock file: where a place of the code stands, and the identity that it was born with. */

export type LockKind = "site" | "call" | "function";

/** A call that has gone from the way to a place; its part of the keys stays. */
export interface GoneLine {
  /** As it was born. */
  readonly container: string;
  readonly anchor: string;
  /** Its tag, and that of the function that was given to it: entered later than the call, it is that which a key was made of. */
  readonly tag: string;
  readonly text: string;
  /** How many elements of the place's loop path were the call's own. */
  readonly loops: number;
  /** Whether the next element counts what the call entered. */
  readonly indexed: boolean;
}

/** A place of one kind, without its history. */
export type Spot = Pick<LockLine, "path" | "container" | "anchor">;

export interface LockLine {
  /** The file, relative to the root. */
  readonly path: string;
  /** The functions around, outermost first; see `joinContainer`. */
  readonly container: string;
  readonly anchor: string;
  readonly kind: LockKind;
  /** Given at birth, to no other place ever. */
  readonly tag: string;
  /** Fingerprint of a call's text, as in the site table; of a function `-`. */
  readonly text: string;
  /** Fingerprints of a call's arguments without the name of what it calls; of a function `-`. */
  readonly rest: string;
  /** What a step calls, if it has another name, or may be one of several; see `joinCallees`. */
  readonly calls?: string;
  /** The call whose callee the function is, if it is called where it stands. */
  readonly by?: string;
  /** How many loops of its function are around it. */
  readonly loops: number;
  /** Fingerprints of their heads, outermost first. */
  readonly heads?: readonly string[];
  /** Which of them those are that were around it at birth, if others are; -1 for one that is gone. */
  readonly bornLoops?: readonly number[];
  /** Fingerprint of what is made of a call's result; of a function `-`. */
  readonly own: string;
  /** Fingerprints of the statements before and after a call of whose result nothing is made. */
  readonly near?: string;
  /** The anchor that keys were made of at birth, if it is another. */
  readonly bornAnchor?: string;
  /** The functions that were around at birth, if that is not said by the function's own line. */
  readonly bornContainer?: string;
  /** Of a call that has been put between others and where they were born; `"@"` if each of its entries counts as an iteration. */
  readonly through?: "" | "@";
  /** Past how many such calls the place was born. */
  readonly skip?: number;
  readonly under?: readonly GoneLine[];
  /** Where somebody says that it stands now; until it is accepted. */
  readonly movedTo?: Spot;
  /** The place is gone. Its line stays, so that what it was called is not used again. */
  readonly retired?: true;
  /** Of a call that is gone: other places are under it still, so the records under it are not of no more use. Said by their lines. */
  readonly held?: true;
  /** The place is gone, and something that is new may be what it was: nobody has said yet. Its line stays; its records are refused. */
  readonly unclear?: true;
}

/** The tags of a call that is gone, and of the function that was given to it. */
export function tagsOfGone({ tag }: GoneLine): string[] {
  return tag.split("+");
}

/** Whether a line is about a place that is in the code no longer. */
export function isGone({ retired, unclear }: LockLine): boolean {
  return retired === true || unclear === true;
}

const columns = 6;

/** Spells a line; its columns hold no spaces. */
export function printLine(line: LockLine): string {
  const {
    path,
    container,
    anchor,
    kind,
    tag,
    text,
    rest,
    own,
    loops,
    heads,
    bornLoops,
    near,
    calls,
    by,
    bornAnchor,
    bornContainer,
    through,
    skip,
    under,
  } = line;
  const parts = [
    spell(path),
    spell(container),
    spell(anchor),
    kind,
    tag,
    kind === "function" ? "-" : `${text}.${rest}.${own}`,
  ];
  if (loops > 0) parts.push(`loops=${heads?.join("-") ?? loops}`);
  if (bornLoops !== undefined) parts.push(`born=${bornLoops.join(",") || "."}`);
  if (near !== undefined) parts.push(`near=${near}`);
  if (calls !== undefined) parts.push(`calls=${spell(calls)}`);
  if (by !== undefined) parts.push(`by=${spell(by)}`);
  if (bornAnchor !== undefined) parts.push(`as=${spell(bornAnchor)}`);
  if (bornContainer !== undefined) parts.push(`in=${spell(bornContainer)}`);
  if (skip !== undefined) parts.push(`skip=${skip}`);
  if (through !== undefined) parts.push(through === "" ? "through" : "through=each");
  for (const gone of under ?? []) parts.push(`under=${printGone(gone)}`);
  if (line.retired) parts.push("retired");
  if (line.unclear) parts.push("unclear");
  return parts.join(" ");
}

/** @throws Error that says what is wrong with the line */
export function parseLine(text: string): LockLine {
  const parts = text.split(/ +/);
  if (parts.length < columns) throw new Error(`it has ${parts.length} columns, not at least ${columns}`);
  const [path, container, anchor, kind, tag, texts, ...more] = parts as [
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  if (kind !== "site" && kind !== "call" && kind !== "function") throw new Error(`"${kind}" is no kind of place`);
  if (!/^[0-9a-f]{10}$/.test(tag)) throw new Error(`"${tag}" is no tag`);
  const digests =
    kind === "function"
      ? /^(-)$/.exec(texts)
      : /^([0-9a-f]{12})\.(-|[0-9a-f]{4}(?:-[0-9a-f]{4})*)\.([0-9a-f]{8})$/.exec(texts);
  if (digests === null) throw new Error(`"${texts}" is no fingerprint`);
  const line: { -readonly [K in keyof LockLine]: LockLine[K] } = {
    path: read(path),
    container: read(container),
    anchor: read(anchor),
    kind,
    tag,
    text: digests[1]!,
    rest: digests[2] ?? "-",
    own: digests[3] ?? "-",
    loops: 0,
  };
  for (const part of more) {
    const [name, value = ""] = splitOnce(part, "=");
    if (name === "loops") Object.assign(line, readLoops(value));
    else if (name === "born") line.bornLoops = value === "." ? [] : value.split(",").map(Number);
    else if (name === "near") line.near = value;
    else if (name === "calls") line.calls = read(value);
    else if (name === "by") line.by = read(value);
    else if (name === "as") line.bornAnchor = read(value);
    else if (name === "in") line.bornContainer = read(value);
    else if (name === "skip") line.skip = readNumber(value);
    else if (part === "through" || part === "through=each") line.through = value === "" ? "" : "@";
    else if (name === "under") line.under = [...(line.under ?? []), parseGone(value)];
    else if (part === "retired") line.retired = true;
    else if (part === "unclear") line.unclear = true;
    else throw new Error(`"${part}" means nothing here`);
  }
  return line;
}

/**
 * Reads what somebody has written by hand: `moved FILE FUNCTION NAME KIND to FILE FUNCTION NAME`, with the columns of the lines.
 *
 * @throws Error that says what is wrong with the line
 */
export function parseMove(text: string): { from: Spot & Pick<LockLine, "kind">; to: Spot } {
  const [moved, path, container, anchor, kind, to, newPath, newContainer, newAnchor, ...more] = text.split(/ +/);
  if (moved !== "moved" || to !== "to" || newAnchor === undefined || more.length > 0)
    throw new Error("it is not `moved FILE FUNCTION NAME KIND to FILE FUNCTION NAME`");
  if (kind !== "site" && kind !== "call" && kind !== "function") throw new Error(`"${kind}" is no kind of place`);
  return {
    from: { path: read(path!), container: read(container!), anchor: read(anchor!), kind },
    to: { path: read(newPath!), container: read(newContainer!), anchor: read(newAnchor) },
  };
}

export function printMove({ path, container, anchor, kind }: LockLine, to: Spot): string {
  const from = [path, container, anchor].map(spell).join(" ");
  return `moved ${from} ${kind} to ${[to.path, to.container, to.anchor].map(spell).join(" ")}`;
}

function printGone({ container, anchor, tag, text, loops, indexed }: GoneLine): string {
  return [spell(container), spell(anchor), tag, text, loops, indexed ? "each" : "once"].join("|");
}

function parseGone(text: string): GoneLine {
  const [container, anchor, tag, digest, loops, indexed] = text.split("|");
  if (indexed !== "each" && indexed !== "once") throw new Error(`"under=${text}" is incomplete`);
  return {
    container: read(container!),
    anchor: read(anchor!),
    tag: tag!,
    text: digest!,
    loops: readNumber(loops!),
    indexed: indexed === "each",
  };
}

function readLoops(text: string): Pick<LockLine, "loops" | "heads"> {
  if (!/^[0-9a-f]{4}(-[0-9a-f]{4})*$/.test(text)) throw new Error(`"loops=${text}" cannot be read`);
  const heads = text.split("-");
  return { loops: heads.length, heads };
}

function readNumber(text: string): number {
  if (!/^\d{1,3}$/.test(text)) throw new Error(`"${text}" is no number`);
  return Number(text);
}

function splitOnce(text: string, sign: string): [string, string?] {
  const at = text.indexOf(sign);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** The module itself is spelt `.`; no column is empty or holds white space. */
function spell(text: string): string {
  if (text === "") return ".";
  const spelt = text.replace(/[\s%|\p{Cc}\p{Cs}]/gu, (char) => `%${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return spelt === "." || spelt.startsWith("#")
    ? `%${spelt.charCodeAt(0).toString(16).padStart(4, "0")}${spelt.slice(1)}`
    : spelt;
}

function read(text: string): string {
  if (text === ".") return "";
  return text.replace(/%([0-9a-f]{4})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}

/** Names of functions of which a step calls one, as one text. */
export function joinCallees(names: readonly string[]): string {
  return [...new Set(names)].join("|");
}

export function splitCallees(calls: string): string[] {
  return calls.split("|");
}

/** Functions inside each other, as one text. */
export function joinContainer(anchors: readonly string[]): string {
  return anchors.map((anchor) => anchor.replaceAll("%", "%25").replaceAll(">", "%3E")).join(">");
}

export function splitContainer(container: string): string[] {
  if (container === "") return [];
  return container.split(">").map((anchor) => anchor.replaceAll("%3E", ">").replaceAll("%25", "%"));
}

export function within(container: string, anchor: string): string {
  const inner = joinContainer([anchor]);
  return container === "" ? inner : `${container}>${inner}`;
}

/** The ordinal of an anchor: 0 for the first place of its name. */
export function ordinalOf(anchor: string): number {
  return Number(/~(\d+)/.exec(anchor)?.[1] ?? 0);
}

/** The call that a function is an argument of, and which one: `map~1` and `()` of `map~1()`; undefined for others. */
export function ownerOf(anchor: string): { call: string; shape: string } | undefined {
  const parts = /^(.*?(?:~\d+)?)(\(\d*\))$/s.exec(anchor);
  return parts === null ? undefined : { call: parts[1]!, shape: parts[2]! };
}
