/** The scopes of a run, as its replay keys tell them. */

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { takesNoTime } from "../../runtime/journal/entry.js";
import { duration } from "./format.js";
import { Chevron, KindSign } from "./glyphs.js";
import { type Model, rowsAt, type ScopeNode, statusAt } from "./model.js";
import { moved, rowId, VirtualList } from "./virtual.js";
import { kindWords, statusWords } from "./words.js";

const rowHeight = 26;
const id = "tree";

export interface TreeProps {
  model: Model;
  version: number;
  seq: number;
  /** Key of a call, or id of a scope. */
  selected: string | undefined;
  /** Key of the call whose record did not fit the code. */
  misfit: string | undefined;
  onSelect(id: string): void;
  onOpen(): void;
}

interface Item {
  node: ScopeNode;
  level: number;
  position: number;
  siblings: number;
}

export function Tree({ model, version, seq, selected, misfit, onSelect, onOpen }: TreeProps): JSX.Element {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  // What is selected elsewhere is to be seen here.
  const around = useMemo(() => {
    const ids = new Set<string>();
    for (let node = model.node(selected ?? "")?.parent; node !== undefined; node = node.parent) ids.add(node.id);
    return ids;
  }, [model, selected]);
  const items = useMemo(() => {
    const found: Item[] = [];
    const visit = (node: ScopeNode | undefined, level: number): void => {
      const children = model.childrenOf(node).filter(({ firstSeq }) => firstSeq <= seq);
      for (const [index, child] of children.entries()) {
        found.push({ node: child, level, position: index + 1, siblings: children.length });
        if (!closed.has(child.id) || around.has(child.id)) visit(child, level + 1);
      }
    };
    visit(undefined, 1);
    return found;
  }, [model, version, seq, closed, around]);
  const active = useMemo(() => items.findIndex(({ node }) => node.id === selected), [items, selected]);
  const isOpen = ({ id: scope }: ScopeNode): boolean => !closed.has(scope) || around.has(scope);
  const setOpen = (node: ScopeNode, open: boolean): void => {
    const next = new Set(closed);
    if (open) next.delete(node.id);
    else next.add(node.id);
    setClosed(next);
    // Otherwise what is selected below would keep it open.
    if (!open && around.has(node.id)) onSelect(node.id);
  };
  return (
    <VirtualList
      id={id}
      role="tree"
      label="Scopes and calls"
      class="tree"
      count={items.length}
      rowHeight={rowHeight}
      active={active}
      onKeyDown={(event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const node = items[active]?.node;
        const hasChildren = node !== undefined && node.children.length > 0;
        if (event.key === "Enter" || event.key === " ") onOpen();
        else if (event.key === "ArrowRight" && node !== undefined) {
          if (hasChildren && !isOpen(node)) setOpen(node, true);
          else if (hasChildren) onSelect(items[active + 1]!.node.id);
        } else if (event.key === "ArrowLeft" && node !== undefined) {
          if (hasChildren && isOpen(node)) setOpen(node, false);
          else if (node.parent !== undefined) onSelect(node.parent.id);
        } else {
          const to = moved(event.key, active, items.length, 12);
          if (to === undefined) return;
          onSelect(items[to]!.node.id);
        }
        event.preventDefault();
      }}
      row={(index) => {
        const { node } = items[index]!;
        return (
          <Row
            index={index}
            item={items[index]!}
            seq={seq}
            isOpen={isOpen(node)}
            isSelected={index === active}
            isMisfit={node.id === misfit}
            onSelect={() => onSelect(node.id)}
            onToggle={() => setOpen(node, !isOpen(node))}
          />
        );
      }}
    />
  );
}

interface RowProps {
  index: number;
  item: Item;
  seq: number;
  isOpen: boolean;
  isSelected: boolean;
  isMisfit: boolean;
  onSelect(): void;
  onToggle(): void;
}

function Row({ index, item, seq, isOpen, isSelected, isMisfit, onSelect, onToggle }: RowProps): JSX.Element {
  const { node, level, position, siblings } = item;
  const { call } = node;
  const hasChildren = node.children.length > 0;
  const status = call && statusAt(call, seq);
  const rows = call === undefined || status === undefined ? [] : rowsAt(call, seq);
  const attempts = Math.max(0, ...rows.map(({ attempt = 1 }) => attempt));
  const refused = rows.filter(({ state }) => state === "refused").length;
  const last = rows.at(-1);
  const isMoment = call !== undefined && takesNoTime(call.kind);
  const isOver = last?.state === "done" || last?.state === "failed";
  return (
    <div
      id={rowId(id, index)}
      role="treeitem"
      aria-level={level}
      aria-setsize={siblings}
      aria-posinset={position}
      aria-selected={isSelected}
      aria-expanded={hasChildren ? isOpen : undefined}
      class={`tree-row ${isSelected ? "is-active" : ""} ${status === undefined ? "is-scope" : `is-${status}`}`}
      style={{ height: `${rowHeight}px`, paddingLeft: `${8 + Math.min(level - 1, 14) * 16}px` }}
      onClick={onSelect}
    >
      {hasChildren ? (
        <span
          class="twist"
          onClick={(event) => {
            event.stopPropagation();
            onToggle();
          }}
        >
          <Chevron open={isOpen} />
        </span>
      ) : (
        <span class="twist" />
      )}
      {call && <KindSign kind={call.kind} status={status} />}
      <bdi class="tree-label">{node.label}</bdi>
      {call && status !== undefined && (
        <span class="unseen">{`, ${kindWords[call.kind]}, ${statusWords(call.kind, status)}`}</span>
      )}
      {call?.name !== undefined && call.name !== node.label && call.kind !== "changed" && (
        <bdi class="tree-name">{call.name}</bdi>
      )}
      {attempts > 1 && <span class="badge">{attempts} attempts</span>}
      {isMisfit && <span class="badge is-bad">does not fit</span>}
      {refused > 0 && <span class="badge is-bad">{refused} refused</span>}
      {hasChildren && node.failed > 0 && call?.rows.at(-1)?.state !== "failed" && (
        <span class="badge is-bad">{node.failed} failed</span>
      )}
      <span class="tree-end">
        {call !== undefined && status !== undefined
          ? isMoment
            ? ""
            : isOver
              ? status === "failed" || status === "timedOut"
                ? `${statusWords(call.kind, status)} · ${duration(last!.end - rows[0]!.start)}`
                : duration(last!.end - rows[0]!.start)
              : statusWords(call.kind, status)
          : node.size > 1 && hasChildren
            ? `${node.size.toLocaleString("en")} calls`
            : ""}
      </span>
    </div>
  );
}
