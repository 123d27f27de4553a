/** All runs of the store, newest first, as they are now. */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { RunList as Listed, RunLine } from "../wire.js";
import { api, type Filter, Refusal } from "./api.js";
import { age, moment } from "./format.js";
import { Drawing, RunSign, runWords } from "./glyphs.js";
import { moved, rowId, VirtualList } from "./virtual.js";

const rowHeight = 52;
const id = "runs";
/** Between two looks, in milliseconds; a store that takes long to list is asked less often. */
const interval = 1_000;
const statuses = ["running", "waiting", "completed", "failed", "cancelled"] as const;

export function RunList({ open, onOpen }: { open: string | undefined; onOpen(id: string): void }): JSX.Element {
  const [filter, setFilter] = useState<Filter>({ status: [], workflow: "", text: "", limit: 200 });
  const [listed, setListed] = useState<Listed | undefined>();
  const [problem, setProblem] = useState<Refusal | undefined>();
  const [active, setActive] = useState(-1);
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async (): Promise<void> => {
      const before = performance.now();
      if (!document.hidden) {
        try {
          const found = await api.list(filter, controller.signal);
          setListed((known) => (JSON.stringify(known) === JSON.stringify(found) ? known : found));
          setProblem(undefined);
        } catch (error) {
          if (controller.signal.aborted) return;
          if (error instanceof Refusal) setProblem(error);
        }
        setNow(Date.now());
      }
      timer = setTimeout(look, Math.max(interval, 5 * (performance.now() - before)));
    };
    void look();
    const shown = (): void => {
      if (document.hidden) return;
      clearTimeout(timer);
      void look();
    };
    document.addEventListener("visibilitychange", shown);
    return () => {
      controller.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", shown);
    };
  }, [filter]);
  const runs = listed?.runs ?? [];
  const at = useMemo(() => {
    const kept = runs[active] === undefined ? -1 : active;
    return kept >= 0 ? kept : runs.findIndex((run) => run.id === open);
  }, [runs, active, open]);
  const change = (part: Partial<Filter>): void => {
    setActive(-1);
    setFilter((before) => ({ ...before, ...part }));
  };
  const isFiltered = filter.status.length > 0 || filter.workflow !== "" || filter.text !== "";
  const toggle = (status: string): void =>
    change({
      status: filter.status.includes(status)
        ? filter.status.filter((each) => each !== status)
        : [...filter.status, status],
    });
  return (
    <nav class="runs" aria-label="Runs">
      <div class="filters">
        <label class="search">
          <Drawing of="search" />
          <input
            type="search"
            placeholder="Id or workflow"
            aria-label="Filter by text"
            value={filter.text}
            onInput={({ currentTarget }) => change({ text: currentTarget.value })}
          />
        </label>
        <select
          aria-label="Filter by workflow"
          value={filter.workflow}
          onChange={({ currentTarget }) => change({ workflow: currentTarget.value })}
        >
          <option value="">All workflows</option>
          {(listed?.workflows ?? []).map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <fieldset class="statuses">
          <legend class="unseen">Filter by status</legend>
          {statuses.map((status) => (
            <button
              key={status}
              type="button"
              class="chip"
              aria-pressed={filter.status.includes(status)}
              onClick={() => toggle(status)}
            >
              <RunSign run={{ status }} />
              {status}
            </button>
          ))}
        </fieldset>
      </div>
      {problem && (
        <p class="problem" role="alert">
          {problem.message}
        </p>
      )}
      {listed !== undefined && runs.length === 0 && (
        <p class="empty">{isFiltered ? "No run is like that." : "No runs yet. They appear here as they start."}</p>
      )}
      <VirtualList
        id={id}
        role="listbox"
        label="Runs, newest first"
        class="run-rows"
        count={runs.length}
        rowHeight={rowHeight}
        active={at}
        onKeyDown={(event) => {
          if ((event.key === "Enter" || event.key === " ") && runs[at] !== undefined) {
            event.preventDefault();
            return onOpen(runs[at].id);
          }
          const to = moved(event.key, at, runs.length, 8);
          if (to === undefined) return;
          event.preventDefault();
          setActive(to);
        }}
        row={(index) => (
          <Row
            index={index}
            count={runs.length}
            run={runs[index]!}
            now={now}
            isOpen={runs[index]!.id === open}
            isActive={index === at}
            onOpen={() => {
              setActive(index);
              onOpen(runs[index]!.id);
            }}
          />
        )}
      />
      {listed?.more && (
        <button
          type="button"
          class="more"
          disabled={filter.limit >= 1_000}
          onClick={() => change({ limit: Math.min(1_000, filter.limit + 400) })}
        >
          {filter.limit >= 1_000 ? "Older runs: narrow the filter" : "Show more"}
        </button>
      )}
    </nav>
  );
}

interface RowProps {
  index: number;
  count: number;
  run: RunLine;
  now: number;
  isOpen: boolean;
  isActive: boolean;
  onOpen(): void;
}

function Row({ index, count, run, now, isOpen, isActive, onOpen }: RowProps): JSX.Element {
  return (
    <div
      id={rowId(id, index)}
      role="option"
      aria-selected={isOpen}
      aria-setsize={count}
      aria-posinset={index + 1}
      class={`run-row ${isActive ? "is-active" : ""}`}
      style={{ height: `${rowHeight}px` }}
      onClick={onOpen}
    >
      <RunSign run={run} />
      <div class="run-words">
        <bdi class="run-id">{run.id}</bdi>
        <span class="run-about">
          <bdi>{run.workflow}</bdi>
          {run.parent !== undefined && <span class="muted"> · child</span>}
        </span>
      </div>
      <div class="run-times">
        <span title={`Started ${moment(run.createdAt)}`}>{age(now - run.createdAt)}</span>
        <span class={`run-status run-${run.left ? "left" : run.status}`}>{runWords(run)}</span>
      </div>
    </div>
  );
}
