/** Replay keys taken apart, for people: `fulfil/map()[2]/getQuote` is a path. See `runtime/scope/key.ts`. */

/** One node of the path: the whole key up to it, and what it is called. */
export interface Part {
  id: string;
  label: string;
}

/** The nodes that lead to a key, outermost first. Of `map()[2]` there are two: the call, and the function that it entered. */
export function partsOf(key: string): Part[] {
  const parts: Part[] = [];
  let from = 0;
  while (from <= key.length) {
    const slash = key.indexOf("/", from);
    const end = slash < 0 ? key.length : slash;
    const segment = key.slice(from, end);
    const bracket = segment.endsWith("]") ? segment.lastIndexOf("[") : -1;
    const id = from === 0 && slash < 0 ? segment.indexOf("#") : -1;
    if (bracket > 0) {
      parts.push({ id: key.slice(0, from + bracket), label: shown(segment.slice(0, bracket)) });
      parts.push({ id: key.slice(0, end), label: shown(segment.slice(bracket)) });
    } else if (id > 0) {
      // What `changed` has told the run stands beside the workflow, not below it.
      parts.push({ id: segment.slice(0, id), label: shown(segment.slice(0, id)) });
      parts.push({ id: segment, label: shown(segment.slice(id)) });
    } else parts.push({ id: key.slice(0, end), label: digested.test(segment) ? "…" : shown(segment) });
    from = end + 1;
  }
  return parts;
}

/** The head of a key that was too long. */
const digested = /^#[0-9a-f]{32}/;

/** A part as the user spelled it. */
function shown(segment: string): string {
  const spelled = segment
    .replace(/%([0-9A-F]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replace(/%7E/g, "~")
    .replace(/%25/g, "%");
  return spelled.replace(unseen, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const unseen = /[\p{Cc}\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;
