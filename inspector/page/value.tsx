/** A recorded value as text, as much of it as the user asks for. It is never anything but text. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { ValueSlice } from "../wire.js";
import { api, Refusal } from "./api.js";
import { characters } from "./format.js";
import { Drawing } from "./glyphs.js";

/** How much is fetched at a time. */
const portion = 64 * 1024;
/** More pieces of one colour than these would only be slow. */
const mostTokens = 3_000;

export interface ValueProps {
  run: string;
  /** Number of an entry, `input`, `output` or `error`. */
  of: string | number;
  /** The beginning, if it is here already. */
  first?: ValueSlice | undefined;
  label: string;
}

export function Value({ run, of, first, label }: ValueProps): JSX.Element {
  const [slices, setSlices] = useState<readonly ValueSlice[]>(first === undefined ? [] : [first]);
  const [problem, setProblem] = useState("");
  const [loading, setLoading] = useState(first === undefined);
  const load = async (from: number, length: number, signal?: AbortSignal): Promise<void> => {
    setLoading(true);
    try {
      const slice = await api.value(run, of, from, length, signal);
      setSlices((before) => (from === 0 ? [slice] : [...before, slice]));
      setProblem("");
    } catch (error) {
      if (signal?.aborted) return;
      setProblem(error instanceof Refusal ? error.message : String(error));
    }
    setLoading(false);
  };
  useEffect(() => {
    if (first !== undefined) return;
    const controller = new AbortController();
    void load(0, 8_192, controller.signal);
    return () => controller.abort();
  }, []);
  const total = slices[0]?.total ?? 0;
  const shown = slices.reduce((sum, { text }) => sum + text.length, 0);
  return (
    <div class="value">
      {slices.length > 0 && (
        <Text label={label}>
          {slices.map(({ text, from }) => (
            <span key={from} class={from > 0 ? "text-more" : ""}>
              {from === 0 ? coloured(text) : text}
            </span>
          ))}
        </Text>
      )}
      {problem !== "" && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {slices.length > 0 && (
        <div class="value-copy">
          <Copy text={() => slices.map(({ text }) => text).join("")} what={label} />
        </div>
      )}
      <div class="value-tools">
        {shown < total && (
          <button type="button" class="more" disabled={loading} onClick={() => void load(shown, portion)}>
            {loading ? "Loading…" : `Show more: ${characters(shown)} of ${characters(total)}`}
          </button>
        )}
        {slices.length > 0 && shown === total && total > 1_000 && <span class="muted">{characters(total)}</span>}
      </div>
    </div>
  );
}

/** Preformatted text, which the keyboard can scroll. */
export function Text({
  label,
  children,
  class: name = "",
}: {
  label: string;
  children: ComponentChildren;
  class?: string;
}): JSX.Element {
  return (
    <pre class={`text ${name}`} dir="ltr" tabIndex={0} role="region" aria-label={label}>
      {children}
    </pre>
  );
}

export function Copy({ text, what }: { text(): string; what: string }): JSX.Element {
  const [said, setSaid] = useState("");
  return (
    <>
      <button
        type="button"
        class="tool copy"
        title={`Copy ${what}`}
        aria-label={`Copy ${what}`}
        onClick={() => {
          navigator.clipboard.writeText(text()).then(
            () => setSaid("Copied"),
            () => setSaid("The browser did not allow it"),
          );
          setTimeout(setSaid, 2_000, "");
        }}
      >
        <Drawing of="copy" />
      </button>
      <span class="muted" aria-live="polite">
        {said}
      </span>
    </>
  );
}

const tokens =
  /("(?:[^"\\\n]|\\.)*")(\s*:)?|\b(true|false|null|undefined)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(\\u[0-9a-f]{4})/g;

/** Text of our own making, with its words set apart by colour. */
function coloured(text: string): ComponentChildren {
  const parts: ComponentChildren[] = [];
  let at = 0;
  let count = 0;
  for (const match of text.matchAll(tokens)) {
    if (++count > mostTokens) break;
    const [whole, string, colon, word] = match;
    const name =
      string === undefined ? (word === undefined ? "number" : "word") : colon === undefined ? "string" : "name";
    const token = string ?? whole;
    if (match.index > at) parts.push(text.slice(at, match.index));
    parts.push(
      <span key={match.index} class={`token-${name}`}>
        {token}
      </span>,
    );
    at = match.index + token.length;
  }
  parts.push(text.slice(at));
  return parts;
}
