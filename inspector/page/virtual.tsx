/** A list of which only the rows in sight are there. All rows are of one height. */
import { type ComponentChildren, Fragment, type JSX, type TargetedKeyboardEvent } from "preact";
import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";

/** Rows that are there above and below those in sight. */
const spare = 8;
/** Rows come and go so many at a time. */
const block = 5;

export interface VirtualProps {
  id: string;
  role: "tree" | "listbox";
  label: string;
  count: number;
  rowHeight: number;
  /** The row that the keyboard is at; -1 for none. It is kept in sight. */
  active: number;
  /** Changes when the active row is to be brought in sight although it is the same. */
  reveal?: unknown;
  onKeyDown(event: TargetedKeyboardEvent<HTMLDivElement>): void;
  /** Draws a row, with `rowId(id, index)` as its id. */
  row(index: number): ComponentChildren;
  class?: string;
}

export function rowId(list: string, index: number): string {
  return `${list}-${index}`;
}

export function VirtualList(props: VirtualProps): JSX.Element {
  const { id, role, label, count, rowHeight, active, reveal, onKeyDown, row } = props;
  const box = useRef<HTMLDivElement>(null);
  const [[first, end], setRange] = useState<readonly [number, number]>([0, 40]);
  const measure = useCallback(() => {
    const { scrollTop, clientHeight } = box.current!;
    const from = Math.floor(Math.max(0, scrollTop / rowHeight - spare) / block) * block;
    const to = Math.ceil((scrollTop + clientHeight) / rowHeight / block) * block + spare;
    setRange((before) => (before[0] === from && before[1] === to ? before : [from, to]));
  }, [rowHeight]);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(measure);
    observer.observe(box.current!);
    measure();
    return () => observer.disconnect();
  }, [measure]);
  useLayoutEffect(() => {
    if (active < 0) return;
    const { scrollTop, clientHeight } = box.current!;
    const top = active * rowHeight;
    if (top < scrollTop) box.current!.scrollTop = Math.max(0, top - rowHeight);
    else if (top + rowHeight > scrollTop + clientHeight) box.current!.scrollTop = top + 2 * rowHeight - clientHeight;
  }, [active, reveal, rowHeight]);
  const last = Math.min(count, end);
  const from = Math.min(first, Math.max(0, count - 1));
  // A row that is out of sight is used again for one that comes in sight.
  const pool = useRef(1);
  pool.current = Math.max(pool.current, last - from);
  const rows: ComponentChildren[] = [];
  for (let index = from; index < last; index++) rows.push(<Fragment key={index % pool.current}>{row(index)}</Fragment>);
  const isHere = active >= from && active < last;
  return (
    <div
      ref={box}
      id={id}
      role={role}
      aria-label={label}
      aria-activedescendant={isHere ? rowId(id, active) : undefined}
      tabIndex={0}
      class={`virtual ${props.class ?? ""}`}
      onScroll={measure}
      onKeyDown={onKeyDown}
    >
      <div role="presentation" class="virtual-all" style={{ height: `${count * rowHeight}px` }}>
        <div role="presentation" class="virtual-here" style={{ transform: `translateY(${from * rowHeight}px)` }}>
          {rows}
        </div>
      </div>
    </div>
  );
}

/** Where the keyboard goes in a list; undefined if the key is none of its. */
export function moved(key: string, at: number, count: number, page: number): number | undefined {
  if (count === 0) return undefined;
  const to: Record<string, number> = {
    ArrowDown: at + 1,
    ArrowUp: at < 0 ? 0 : at - 1,
    PageDown: at + page,
    PageUp: at - page,
    Home: 0,
    End: count - 1,
  };
  const found = to[key];
  return found === undefined ? undefined : Math.min(count - 1, Math.max(0, found));
}
