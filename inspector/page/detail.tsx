/** Everything of one call, or of one scope. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { takesNoTime } from "../../runtime/journal/entry.js";
import type { EntryDetail, JournalRow, RunBrief, SourceView } from "../wire.js";
import { AnswerForm } from "./answer.js";
import { api, Refusal } from "./api.js";
import { ErrorText } from "./error.js";
import { duration, moment, plural } from "./format.js";
import { KindSign } from "./glyphs.js";
import { type Call, eventName, type Model, rowsAt, type ScopeNode, statusAt } from "./model.js";
import { Copy, Text, Value } from "./value.js";
import { kindWords, statusWords } from "./words.js";

export interface DetailProps {
  run: RunBrief;
  model: Model;
  seq: number;
  onSelect(id: string): void;
  onOpenRun(id: string): void;
}

/** Refused answers that are shown. */
const mostRefused = 5;

export function CallDetail({ call, ...props }: DetailProps & { call: Call }): JSX.Element {
  const { run, model, seq, onSelect, onOpenRun } = props;
  const rows = rowsAt(call, seq);
  const status = statusAt(call, seq);
  const last = rows.at(-1);
  const outcome = last !== undefined && (last.state === "done" || last.state === "failed") ? last : undefined;
  const opened = rows.find(({ state }) => state === "open");
  const refused = rows.filter(({ state }) => state === "refused").slice(-mostRefused);
  const main = outcome ?? opened ?? last;
  const detail = useEntry(run.id, main?.seq);
  const openedDetail = useEntry(run.id, call.kind === "wait" && outcome !== undefined ? opened?.seq : undefined);
  const isMisfit = run.failure?.key === call.key && (run.failure.recorded ?? run.failure.asked) !== undefined;
  const canAnswer = call.kind === "wait" && status === "open" && (run.status === "waiting" || run.status === "running");
  return (
    <article class="detail">
      <header class="detail-head">
        <KindSign kind={call.kind} status={status} />
        <h2>
          <bdi>{call.node.label}</bdi>
        </h2>
        <span class={`state is-${status ?? "unknown"}`}>
          {status === undefined ? "not yet known" : statusWords(call.kind, status)}
        </span>
      </header>
      <p class="detail-kind">
        {kindWords[call.kind]}
        {call.name !== undefined && call.name !== call.node.label && (
          <>
            {" "}
            <bdi class="mono">{call.name}</bdi>
          </>
        )}
      </p>
      {isMisfit && (
        <Section title="The record does not fit the code">
          <ErrorText error={run.failure!} onSelect={onSelect} />
        </Section>
      )}
      {canAnswer && seq >= model.lastSeq && (
        <AnswerForm
          run={run.id}
          wait={call.key}
          name={call.name ?? ""}
          queued={run.queued.includes(call.key) || run.queued.includes(call.name ?? "")}
        />
      )}
      {call.child !== undefined && (
        <Section title="Child run">
          <button type="button" class="link" onClick={() => onOpenRun(call.child!)}>
            <bdi>{call.child}</bdi>
          </button>
        </Section>
      )}
      {detail.problem && <p class="problem">{detail.problem}</p>}
      {call.kind === "wait" && (
        <WaitValues
          run={run.id}
          outcome={outcome}
          opened={opened}
          detail={detail.found}
          openedDetail={openedDetail.found}
        />
      )}
      {call.kind !== "wait" && call.kind !== "timer" && outcome !== undefined && (
        <Outcome run={run.id} row={outcome} detail={detail.found} onSelect={onSelect} />
      )}
      {refused.map((row) => (
        <Refused key={row.seq} run={run.id} row={row} />
      ))}
      <Section title="Times">
        <Times call={call} rows={rows} />
      </Section>
      {detail.found?.source !== undefined && <Source source={detail.found.source} at={placeOf(call)} />}
      <Section title="Identity">
        <dl class="facts">
          <Fact label="Key">
            <bdi class="mono wrap">{call.key}</bdi>
            <Copy text={() => call.key} what="the key" />
          </Fact>
          {call.site !== undefined && (
            <Fact label="Place">
              <bdi class="mono wrap">{placeOf(call)}</bdi>
            </Fact>
          )}
          {detail.found?.container && (
            <Fact label="Function">
              <bdi class="mono wrap">{detail.found.container.replaceAll(">", " › ")}</bdi>
            </Fact>
          )}
          {last?.within !== undefined && (
            <Fact label="Within">
              <button type="button" class="link" onClick={() => onSelect(last.within!)}>
                <bdi>{last.within}</bdi>
              </button>
            </Fact>
          )}
          {detail.found !== undefined && (
            <Fact label="Arguments">
              {detail.found.args === "" ? (
                <span class="muted">nothing to compare</span>
              ) : (
                <bdi class="mono wrap" title="Fingerprint: what a replay compares">
                  {detail.found.args}
                </bdi>
              )}
            </Fact>
          )}
        </dl>
      </Section>
      <Section title={plural(rows.length, "entry", "entries")}>
        <ol class="entries">
          {rows.slice(-50).map((row) => (
            <li key={row.seq}>
              <span class="journal-seq">{row.seq}</span> {eventName(row)}
              {row.attempt !== undefined && <span class="muted"> · attempt {row.attempt}</span>}
            </li>
          ))}
        </ol>
      </Section>
    </article>
  );
}

/** A scope that is no call. */
export function ScopeDetail({ node, model, seq, onSelect }: DetailProps & { node: ScopeNode }): JSX.Element {
  const children = model.childrenOf(node).filter(({ firstSeq }) => firstSeq <= seq);
  return (
    <article class="detail">
      <header class="detail-head">
        <h2>
          <bdi>{node.label}</bdi>
        </h2>
        <span class="state">scope</span>
      </header>
      <dl class="facts">
        <Fact label="Path">
          <bdi class="mono wrap">{node.id}</bdi>
          <Copy text={() => node.id} what="the path" />
        </Fact>
        <Fact label="Calls">
          {node.size.toLocaleString("en")}
          {node.failed > 0 && <span class="badge is-bad">{node.failed} failed</span>}
        </Fact>
        <Fact label="Began">{moment(node.start)}</Fact>
      </dl>
      <Section title="Directly below">
        <ul class="below">
          {children.slice(0, 100).map((child) => (
            <li key={child.id}>
              <button type="button" class="link" onClick={() => onSelect(child.id)}>
                <bdi>{child.label}</bdi>
              </button>
            </li>
          ))}
          {children.length > 100 && <li class="muted">and {(children.length - 100).toLocaleString("en")} more</li>}
        </ul>
      </Section>
    </article>
  );
}

interface OutcomeProps {
  run: string;
  row: JournalRow;
  detail: EntryDetail | undefined;
  onSelect?: (key: string) => void;
  title?: string;
}

function Outcome({ run, row, detail, onSelect, title }: OutcomeProps): JSX.Element {
  const failed = row.state === "failed";
  const heading = title ?? (failed ? "Error" : row.kind === "step" || row.kind === "child" ? "Result" : "Value");
  return (
    <Section title={heading}>
      {detail === undefined || detail.seq !== row.seq ? (
        <p class="muted">Loading…</p>
      ) : detail.error !== undefined ? (
        <>
          <ErrorText error={detail.error} onSelect={onSelect} />
          {detail.error.messageLength !== undefined && (
            <Value run={run} of={row.seq} first={detail.value} label="the whole error" />
          )}
        </>
      ) : (
        <Value key={`${run}/${row.seq}`} run={run} of={row.seq} first={detail.value} label={heading.toLowerCase()} />
      )}
    </Section>
  );
}

interface WaitProps {
  run: string;
  outcome: JournalRow | undefined;
  opened: JournalRow | undefined;
  detail: EntryDetail | undefined;
  openedDetail: EntryDetail | undefined;
}

function WaitValues({ run, outcome, opened, detail, openedDetail }: WaitProps): JSX.Element {
  return (
    <>
      {outcome !== undefined && !outcome.timedOut && <Outcome run={run} row={outcome} detail={detail} title="Answer" />}
      {outcome?.timedOut && <p class="notice">Nobody answered in time.</p>}
      {opened !== undefined && (
        <Outcome run={run} row={opened} detail={outcome === undefined ? detail : openedDetail} title="Payload" />
      )}
    </>
  );
}

function Refused({ run, row }: { run: string; row: JournalRow }): JSX.Element {
  const { found } = useEntry(run, row.seq);
  return <Outcome run={run} row={row} detail={found} title="Refused: what was wrong" />;
}

function Times({ call, rows }: { call: Call; rows: readonly JournalRow[] }): JSX.Element {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) return <p class="muted">Nothing was known yet.</p>;
  const isOver = last.state === "done" || last.state === "failed";
  const attempts = rows.filter(({ state }) => state === "attempt");
  const count = Math.max(...rows.map(({ attempt = 1 }) => attempt));
  const isMoment = takesNoTime(call.kind);
  return (
    <dl class="facts">
      <Fact label={isMoment ? "When" : call.kind === "wait" ? "Asked" : "Started"}>{moment(first.start)}</Fact>
      {isOver && !isMoment && <Fact label={call.kind === "wait" ? "Answered" : "Ended"}>{moment(last.end)}</Fact>}
      {isOver && !isMoment && <Fact label="Took">{duration(last.end - first.start)}</Fact>}
      {last.due !== undefined && <Fact label="Due">{moment(last.due)}</Fact>}
      {call.kind === "step" && (
        <Fact label="Attempts">
          {count}
          {attempts.length > 1 && (
            <ol class="attempts">
              {attempts.slice(-20).map((row) => (
                <li key={row.seq}>
                  {row.attempt ?? 1}: {moment(row.start)}
                </li>
              ))}
            </ol>
          )}
        </Fact>
      )}
    </dl>
  );
}

function Source({ source, at }: { source: SourceView; at: string }): JSX.Element {
  return (
    <Section title="Source">
      <figure class="source">
        <figcaption>
          <bdi class="mono wrap">{at}</bdi>
        </figcaption>
        <Text label="lines of source">
          {source.lines.map((text, index) => (
            <span key={index} class={`source-line ${source.first + index === source.line ? "is-here" : ""}`}>
              <span class="source-number" aria-hidden="true">
                {source.first + index}
              </span>
              <span>{`${text}\n`}</span>
            </span>
          ))}
        </Text>
        {source.doubtful && (
          <p class="notice">The file has changed since: the call is not to be seen in these lines.</p>
        )}
      </figure>
    </Section>
  );
}

export function Section({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <section class="part">
      <h3>{title}</h3>
      {children}
    </section>
  );
}

export function Fact({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function placeOf({ site }: Call): string {
  return site === undefined ? "" : `${site.module}:${site.line}`;
}

/** An entry's details; asked for only when the selection has come to rest. */
export function useEntry(run: string, seq: number | undefined): { found?: EntryDetail; problem?: string } {
  const [state, setState] = useState<{ name: string; found?: EntryDetail; problem?: string }>({ name: "" });
  const name = `${run}/${seq}`;
  useEffect(() => {
    if (seq === undefined) return;
    const controller = new AbortController();
    const timer = setTimeout(() => {
      api.entry(run, seq, controller.signal).then(
        (found) => setState({ name: `${run}/${seq}`, found }),
        (error) => {
          if (!controller.signal.aborted)
            setState({ name: `${run}/${seq}`, problem: error instanceof Refusal ? error.message : String(error) });
        },
      );
    }, 60);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [run, seq]);
  return state.name === name ? state : {};
}
