/**
 * Maps in a row, for hosts that go by one alone and leave it to whoever changes the code to join them: Node and esbuild where the code
 * was compiled before and names the map that leads on from it, Jest where another transformer comes after us.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import remapping, { type EncodedSourceMap } from "@jridgewell/remapping";
import { SourceMap } from "magic-string";
import { fileOf } from "../file-name.js";
import type { TransformedText } from "../transform-text.js";

type Code = Pick<TransformedText, "code" | "map">;

/** The comment that ends a file with the address of its map. */
const comment = /(?:\r\n?|\n|^)?[ \t]*\/[/*][#@] *sourceMappingURL=([^\s'"*]+)[ \t]*(?:\*\/)?\s*$/;

/**
 * @param file of the code, as the host knows it
 * @returns the code without the comment, and a map to what the code was compiled from; as given where there is no such map to be had
 */
export function throughEarlierMap<T extends Code>(transformed: T, file: string): T {
  const { code, map } = transformed;
  const [whole, address] = comment.exec(code) ?? [];
  const at = fileOf(file);
  const earlier = address === undefined || at === undefined ? undefined : readMap(address, path.resolve(at));
  if (earlier === undefined) return transformed;
  return {
    ...transformed,
    code: code.slice(0, -whole!.length),
    map: join(map as unknown as EncodedSourceMap, earlier),
  };
}

/** What another transformer makes of our code: its map stands apart, as an object or text, or in the code. */
interface LaterCode {
  code: string;
  map?: object | string | null;
}

/**
 * @param ours the map of the code that `later` was made of
 * @returns `later` with a map that leads on to the source; as given if it has no map, or one of several sources
 */
export function throughOurMap<T extends LaterCode>(later: T, ours: SourceMap, file: string): T {
  const [, address] = comment.exec(later.code) ?? [];
  const map = later.map ?? (address === undefined ? undefined : readMap(address, file));
  if (map === undefined) return later;
  const parsed = (typeof map === "string" ? JSON.parse(map) : map) as EncodedSourceMap;
  // Of several sources one alone is ours, and which is not said.
  if (parsed.sources?.length !== 1) return later;
  return { ...later, map: join(parsed, ours as unknown as EncodedSourceMap) };
}

function join(map: EncodedSourceMap, earlier: EncodedSourceMap): SourceMap {
  const joined = remapping([map, earlier], () => null, { decodedMappings: true });
  return new SourceMap(joined as ConstructorParameters<typeof SourceMap>[0]);
}

/** A map with absolute sources; undefined if it cannot be read, or leads nowhere. */
function readMap(address: string, file: string): EncodedSourceMap | undefined {
  try {
    const inline = /^data:application\/json[^,]*?(;base64)?,(.*)$/s.exec(address);
    const place = inline === null ? path.resolve(path.dirname(file), decodeURIComponent(address)) : file;
    const text = inline === null ? readFileSync(place, "utf8") : decode(inline[2]!, inline[1] !== undefined);
    const map = JSON.parse(text) as EncodedSourceMap;
    // Not for the maps of bundles in parts, which nobody appends to a module.
    if (typeof map.mappings !== "string" || map.mappings === "" || !Array.isArray(map.sources)) return undefined;
    const { sourceRoot, ...rest } = map;
    return { ...rest, sources: map.sources.map((source) => absolute(source, sourceRoot, place)) };
  } catch {
    return undefined;
  }
}

function decode(text: string, isBase64: boolean): string {
  return isBase64 ? Buffer.from(text, "base64").toString("utf8") : decodeURIComponent(text);
}

function absolute(source: string | null, root: string | undefined, map: string): string | null {
  if (source === null) return null;
  const joined = root ? `${root.replace(/\/?$/, "/")}${source}` : source;
  // `webpack://...` and the like are names of their own.
  if (/^[a-z][\w+.-]+:/i.test(joined)) return joined;
  return path.resolve(path.dirname(map), joined);
}
