/** The journal, entry by entry, as it grows. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { duration } from "./format.js";
import { KindSign } from "./glyphs.js";
import { eventName, type Model, statusOf } from "./model.js";
import { moved, rowId, VirtualList } from "./virtual.js";

const rowHeight = 26;
const id = "journal";

export interface JournalProps {
  model: Model;
  version: number;
  start: number;
  seq: number;
  selected: string | undefined;
  onSelect(key: string): void;
  onOpen(): void;
  /** Whether new entries are to be kept in sight. */
  live: boolean;
}

export function Journal({ model, start, seq, selected, onSelect, onOpen, live }: JournalProps): JSX.Element {
  const count = Math.min(seq, model.rows.length);
  const [active, setActive] = useState(-1);
  useEffect(() => {
    if (model.rows[active]?.key === selected) return;
    setActive(model.rows.findLastIndex((row, index) => index < count && row.key === selected));
  }, [selected]);
  const select = (index: number): void => {
    setActive(index);
    onSelect(model.rows[index]!.key);
  };
  return (
    <VirtualList
      id={id}
      role="listbox"
      label="Journal, in order of delivery"
      class="journal"
      count={count}
      rowHeight={rowHeight}
      active={active >= 0 && active < count ? active : live ? count - 1 : -1}
      onKeyDown={(event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const to = moved(event.key, active, count, 12);
        if (event.key === "Enter" || event.key === " ") onOpen();
        else if (to === undefined) return;
        else select(to);
        event.preventDefault();
      }}
      row={(index) => {
        const row = model.rows[index]!;
        return (
          <div
            id={rowId(id, index)}
            role="option"
            aria-selected={index === active}
            aria-setsize={count}
            aria-posinset={index + 1}
            class={`journal-row ${index === active ? "is-active" : ""} ${row.key === selected ? "is-same" : ""}`}
            style={{ height: `${rowHeight}px` }}
            onClick={() => select(index)}
          >
            <span class="journal-seq">{row.seq}</span>
            <span class="journal-time">+{duration(row.end - start)}</span>
            <KindSign kind={row.kind} status={statusOf(row)} />
            <span class="journal-type">{eventName(row)}</span>
            <bdi class="journal-key">{row.key}</bdi>
            {row.process !== undefined && index > 0 && <span class="badge is-bad">another process</span>}
          </div>
        );
      }}
    />
  );
}
