/** Goes through the run entry by entry, in the order of delivery. */
import type { CSSProperties, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { duration } from "./format.js";
import { Drawing } from "./glyphs.js";
import { eventName, type Model } from "./model.js";

export interface ReplayBarProps {
  model: Model;
  start: number;
  /** The entry that is shown last; undefined: whatever is the last. */
  seq: number | undefined;
  /** Whether there may be more entries. */
  live: boolean;
  onChange(seq: number | undefined): void;
}

/** How long a replay takes from end to end, and how long an entry is shown at most, in milliseconds. */
const wholeReplay = 12_000;
const longestPause = 700;

export function ReplayBar({ model, start, seq, live, onChange }: ReplayBarProps): JSX.Element {
  const last = model.lastSeq;
  const at = Math.min(seq ?? last, last);
  const [playing, setPlaying] = useState(false);
  const go = (to: number): void => onChange(to >= last ? undefined : Math.max(0, to));
  useEffect(() => {
    if (!playing) return;
    const pause = Math.min(longestPause, wholeReplay / Math.max(last, 1));
    const stride = Math.max(1, Math.ceil(16 / pause));
    const timer = setTimeout(
      () => {
        const to = at + stride;
        if (to >= last) setPlaying(false);
        go(to);
      },
      Math.max(16, pause),
    );
    return () => clearTimeout(timer);
  }, [playing, at, last]);
  const row = at === 0 ? undefined : model.rows[at - 1];
  const words = row === undefined ? "before the first entry" : `${eventName(row)}, +${duration(row.end - start)}`;
  return (
    <div class="replay" role="group" aria-label="Replay">
      <div class="tools">
        <button
          type="button"
          class="tool"
          title="First"
          aria-label="To the start"
          disabled={at === 0}
          onClick={() => go(0)}
        >
          <Drawing of="first" />
        </button>
        <button
          type="button"
          class="tool"
          title="Back"
          aria-label="One entry back"
          disabled={at === 0}
          onClick={() => go(at - 1)}
        >
          <Drawing of="back" />
        </button>
        <button
          type="button"
          class="tool"
          title={playing ? "Stop" : "Play"}
          aria-label={playing ? "Stop" : "Play"}
          disabled={last === 0}
          onClick={() => {
            if (!playing && at >= last) go(0);
            setPlaying(!playing);
          }}
        >
          <Drawing of={playing ? "stop" : "play"} />
        </button>
        <button
          type="button"
          class="tool"
          title="Next"
          aria-label="One entry on"
          disabled={at >= last}
          onClick={() => go(at + 1)}
        >
          <Drawing of="next" />
        </button>
        <button
          type="button"
          class="tool"
          title="Last"
          aria-label="To the end"
          disabled={at >= last}
          onClick={() => go(last)}
        >
          <Drawing of="last" />
        </button>
      </div>
      <input
        type="range"
        min={0}
        max={last}
        step={1}
        value={at}
        disabled={last === 0}
        aria-label="Entry of the journal"
        aria-valuetext={`Entry ${at} of ${last}: ${words}`}
        style={{ "--part": `${last === 0 ? 100 : (at / last) * 100}%` } as CSSProperties}
        onInput={({ currentTarget }) => {
          setPlaying(false);
          go(Number(currentTarget.value));
        }}
      />
      <span class="replay-at">
        <span class="replay-count">
          {at.toLocaleString("en")} <span class="muted">/ {last.toLocaleString("en")}</span>
        </span>
        <span class="replay-words">
          {seq === undefined ? (
            live ? (
              <span class="live">live</span>
            ) : (
              <span class="muted">whole run</span>
            )
          ) : (
            <bdi>{words}</bdi>
          )}
        </span>
      </span>
    </div>
  );
}
