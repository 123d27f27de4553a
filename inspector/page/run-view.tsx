/** One run: the timeline, the tree, the journal and the details, all of one moment and with one selection. */
import type { JSX } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { About, RunBrief } from "../wire.js";
import { api, Refusal } from "./api.js";
import { CallDetail, ScopeDetail } from "./detail.js";
import { Feed } from "./feed.js";
import { age, moment, plural } from "./format.js";
import { Drawing, RunSign, runWords } from "./glyphs.js";
import { Journal } from "./journal.js";
import { statusAt } from "./model.js";
import { Overview } from "./overview.js";
import { ReplayBar } from "./replay-bar.js";
import { Timeline } from "./timeline.js";
import { Tree } from "./tree.js";
import { statusWords } from "./words.js";

export interface RunViewProps {
  id: string;
  about: About | undefined;
  theme: string;
  onOpenRun(id: string): void;
  onBack(): void;
}

const panes = ["timeline", "tree", "journal", "details"] as const;
type Pane = (typeof panes)[number];

export function RunView({ id, about, theme, onOpenRun, onBack }: RunViewProps): JSX.Element {
  const feed = useMemo(() => new Feed(id), [id]);
  const [, setVersion] = useState(0);
  const [seq, setSeq] = useState<number | undefined>();
  const [selected, setSelected] = useState<string | undefined>();
  const [pane, setPane] = useState<Pane>("timeline");
  const [now, setNow] = useState(Date.now);
  const details = useRef<HTMLElement>(null);
  useEffect(() => {
    const stop = feed.listen(() => setVersion((before) => before + 1));
    feed.start();
    const visible = (): void => (document.hidden ? feed.stop() : feed.start());
    document.addEventListener("visibilitychange", visible);
    return () => {
      stop();
      feed.stop();
      document.removeEventListener("visibilitychange", visible);
    };
  }, [feed]);
  const { model, brief, caughtUp, problem } = feed;
  const goesOn = brief?.status === "running" || brief?.status === "waiting";
  useEffect(() => {
    if (!goesOn) return;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [goesOn]);
  const select = useCallback((chosen: string) => setSelected(chosen), []);
  const openDetails = useCallback(() => {
    setPane("details");
    requestAnimationFrame(() => details.current?.focus());
  }, []);
  if (brief === undefined || !caughtUp)
    return (
      <section class="run" aria-busy={problem === undefined}>
        {problem === undefined ? (
          <p class="empty">Reading the journal…</p>
        ) : (
          <p class="problem" role="alert">
            {problem.message}
          </p>
        )}
      </section>
    );
  const shownSeq = Math.min(seq ?? Number.POSITIVE_INFINITY, model.lastSeq);
  const start = Math.min(brief.createdAt, model.firstTime);
  const end = Math.max(goesOn ? now : brief.updatedAt, model.lastTime, start + 1);
  const call = selected === undefined ? undefined : model.calls.get(selected);
  const node = selected === undefined ? undefined : model.node(selected);
  const status = call && statusAt(call, shownSeq);
  const known =
    shownSeq >= model.lastSeq
      ? model.calls.size
      : [...model.calls.values()].filter(({ rows }) => rows[0]!.seq <= shownSeq).length;
  const shared = { run: brief, model, seq: shownSeq, onSelect: select, onOpenRun };
  return (
    <section class="run" data-pane={pane} aria-label={`Run ${id}`}>
      <Head run={brief} entries={model.lastSeq} now={now} onBack={onBack} onOpenRun={onOpenRun} />
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem.message}
        </p>
      )}
      <ReplayBar model={model} start={start} seq={seq} live={goesOn} onChange={setSeq} />
      <div class="panes" role="group" aria-label="Views">
        {panes.map((each) => (
          <button
            key={each}
            type="button"
            class={`pane-button for-${each}`}
            aria-pressed={pane === each}
            onClick={() => setPane(each)}
          >
            {each[0]!.toUpperCase() + each.slice(1)}
          </button>
        ))}
      </div>
      <Timeline
        model={model}
        version={model.version}
        start={start}
        end={end}
        seq={shownSeq}
        selected={selected}
        onSelect={select}
        onOpen={openDetails}
        theme={theme}
      />
      <section class="lower" aria-label={pane === "journal" ? "Journal" : "Scopes"}>
        <div class="bar-row">
          <div class="switch" role="group" aria-label="Shown below the timeline">
            <button type="button" aria-pressed={pane !== "journal"} onClick={() => setPane("tree")}>
              Scopes
            </button>
            <button type="button" aria-pressed={pane === "journal"} onClick={() => setPane("journal")}>
              Journal
            </button>
          </div>
          <span class="muted">{plural(known, "call")}</span>
        </div>
        {pane === "journal" ? (
          <Journal
            model={model}
            version={model.version}
            start={start}
            seq={shownSeq}
            selected={selected}
            onSelect={select}
            onOpen={openDetails}
            live={seq === undefined && goesOn}
          />
        ) : (
          <Tree
            model={model}
            version={model.version}
            seq={shownSeq}
            selected={selected}
            misfit={shownSeq >= model.lastSeq ? misfitOf(brief) : undefined}
            onSelect={select}
            onOpen={openDetails}
          />
        )}
      </section>
      {(call ?? node) !== undefined && (
        <button type="button" class="selected-line" onClick={openDetails}>
          <bdi>{node?.label ?? selected}</bdi>
          <span class="muted">{call && status !== undefined ? statusWords(call.kind, status) : ""} Details ›</span>
        </button>
      )}
      <aside class="details" ref={details} tabIndex={0} aria-label="Details">
        {selected !== undefined && (
          <button type="button" class="link to-run" onClick={() => setSelected(undefined)}>
            ‹ This run
          </button>
        )}
        {call !== undefined ? (
          <CallDetail key={`${id}/${call.key}`} call={call} {...shared} />
        ) : node !== undefined ? (
          <ScopeDetail node={node} {...shared} />
        ) : selected !== undefined ? (
          <p class="empty">
            Nothing is recorded under <bdi class="mono">{selected}</bdi>.
          </p>
        ) : (
          <Overview about={about} {...shared} />
        )}
      </aside>
    </section>
  );
}

function misfitOf({ failure }: RunBrief): string | undefined {
  return failure?.recorded?.key ?? (failure?.asked && failure.key);
}

interface HeadProps {
  run: RunBrief;
  entries: number;
  now: number;
  onBack(): void;
  onOpenRun(id: string): void;
}

function Head({ run, entries, now, onBack, onOpenRun }: HeadProps): JSX.Element {
  return (
    <header class="run-head">
      <button type="button" class="tool back" aria-label="All runs" onClick={onBack}>
        <Drawing of="back" />
      </button>
      <div class="run-title">
        <h1>
          <bdi>{run.id}</bdi>
        </h1>
        <p>
          <bdi>{run.workflow}</bdi>
          {run.parent !== undefined && (
            <>
              <span class="muted"> · child of </span>
              <button type="button" class="link" onClick={() => onOpenRun(run.parent!)}>
                <bdi>{run.parent}</bdi>
              </button>
            </>
          )}
          <span class="muted" title={moment(run.createdAt)}>
            {" "}
            · {age(now - run.createdAt)} old · {plural(entries, "entry", "entries")}
          </span>
        </p>
      </div>
      <span class={`run-state run-${run.left ? "left" : run.status}`}>
        <RunSign run={run} />
        {runWords(run)}
      </span>
      {(run.status === "running" || run.status === "waiting") && <Cancel id={run.id} key={run.id} />}
    </header>
  );
}

function Cancel({ id }: { id: string }): JSX.Element {
  const [asked, setAsked] = useState(false);
  const [problem, setProblem] = useState("");
  const cancel = (): void => {
    api.cancel(id).then(
      () => setAsked(false),
      (error) => setProblem(error instanceof Refusal ? error.message : String(error)),
    );
  };
  if (!asked)
    return (
      <button type="button" class="plain" aria-label="Cancel run" onClick={() => setAsked(true)}>
        Cancel
      </button>
    );
  return (
    <div class="confirm" role="group" aria-label="Cancel this run for good?">
      <span>{problem === "" ? "For good?" : problem}</span>
      <button type="button" class="plain is-bad" onClick={cancel}>
        Cancel it
      </button>
      <button
        type="button"
        class="plain"
        onClick={() => {
          setAsked(false);
          setProblem("");
        }}
      >
        Keep it
      </button>
    </div>
  );
}
