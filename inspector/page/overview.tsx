/** The run as a whole: what it waits for, what became of it, what it has published, its family. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { About, ReplayView } from "../wire.js";
import { AnswerForm } from "./answer.js";
import { api, Refusal } from "./api.js";
import { type DetailProps, Fact, Section, useEntry } from "./detail.js";
import { ErrorText } from "./error.js";
import { moment, plural } from "./format.js";
import { type Call, type Model, rowsAt, statusAt } from "./model.js";
import { Value } from "./value.js";
import { statusWords } from "./words.js";

export function Overview({
  run,
  model,
  seq,
  about,
  onSelect,
  onOpenRun,
}: DetailProps & { about: About | undefined }): JSX.Element {
  const isLast = seq >= model.lastSeq;
  const calls = [...model.calls.values()];
  const waits = calls.filter((call) => call.kind === "wait" && statusAt(call, seq) === "open");
  const children = calls.filter((call) => call.kind === "child" && statusAt(call, seq) !== undefined);
  const goesOn = run.status === "running" || run.status === "waiting";
  return (
    <article class="detail">
      <header class="detail-head">
        <h2>This run</h2>
      </header>
      {isLast && run.failure !== undefined && (
        <Section
          title={(run.failure.recorded ?? run.failure.asked) ? "The record does not fit the code" : "Why it failed"}
        >
          <ErrorText error={run.failure} onSelect={onSelect} />
          {run.failure.messageLength !== undefined && <Value run={run.id} of="error" label="the whole error" />}
        </Section>
      )}
      {run.left && (
        <p class="notice is-bad">Its process is gone, and no other has taken it up: `app.recover()` does.</p>
      )}
      {waits.length > 0 && (isLast ? goesOn : true) && (
        <Section title={waits.length === 1 ? "Open wait" : `${waits.length} open waits`}>
          {waits.slice(0, 20).map((call) => (
            <OpenWait
              key={call.key}
              run={run.id}
              call={call}
              queued={run.queued.includes(call.key) || run.queued.includes(call.name ?? "")}
              canAnswer={isLast && goesOn}
              onSelect={onSelect}
            />
          ))}
          {waits.length > 20 && <p class="muted">and {waits.length - 20} more, in the tree</p>}
        </Section>
      )}
      <Published run={run.id} model={model} seq={seq} onSelect={onSelect} />
      <Section title="Input">
        <Value key={`${run.id}/input`} run={run.id} of="input" label="input" />
      </Section>
      {isLast && run.hasOutput && (
        <Section title="Output">
          <Value key={`${run.id}/output/${run.updatedAt}`} run={run.id} of="output" label="output" />
        </Section>
      )}
      {run.parent !== undefined && (
        <Section title="Begun by">
          <button type="button" class="link" onClick={() => onOpenRun(run.parent!)}>
            <bdi>{run.parent}</bdi>
          </button>
        </Section>
      )}
      {children.length > 0 && (
        <Section title={plural(children.length, "child run")}>
          <ul class="below">
            {children.slice(0, 100).map((call) => (
              <li key={call.key}>
                <button type="button" class="link" onClick={() => onOpenRun(call.child!)}>
                  <bdi>{call.child}</bdi>
                </button>{" "}
                <span class="muted">{statusWords("child", statusAt(call, seq)!)}</span>
              </li>
            ))}
          </ul>
        </Section>
      )}
      {about?.workflows !== undefined && <TryBuild run={run.id} key={run.id} />}
      <Section title="About it">
        <dl class="facts">
          <Fact label="Created">{moment(run.createdAt)}</Fact>
          <Fact label="Updated">{moment(run.updatedAt)}</Fact>
          {run.due !== undefined && <Fact label="Goes on">{moment(run.due)}</Fact>}
          {run.owner !== undefined && (
            <Fact label="Driven by">
              process {run.owner.pid} on <bdi>{run.owner.host}</bdi>
              {run.owner.alive ? "" : ", which is gone"}
            </Fact>
          )}
          <Fact label="Taken up">{plural(run.fence, "time")}</Fact>
          {model.marks
            .filter((mark) => mark.seq <= seq)
            .slice(-20)
            .map((mark) => (
              <Fact key={`${mark.kind}${mark.seq}`} label={`Entry ${mark.seq}`}>
                <bdi>{mark.text}</bdi>
              </Fact>
            ))}
        </dl>
      </Section>
      <Keys title="Recorded, not asked for" keys={isLast ? run.orphans : []} onSelect={onSelect} />
      <Keys title="Answered although edited" keys={isLast ? run.edited : []} onSelect={onSelect} />
    </article>
  );
}

interface OpenWaitProps {
  run: string;
  call: Call;
  queued: boolean;
  canAnswer: boolean;
  onSelect(key: string): void;
}

function OpenWait({ run, call, queued, canAnswer, onSelect }: OpenWaitProps): JSX.Element {
  const opened = call.rows.find(({ state }) => state === "open");
  const { found } = useEntry(run, opened?.seq);
  return (
    <div class="card">
      <button type="button" class="link" onClick={() => onSelect(call.key)}>
        <bdi>{call.name}</bdi>
      </button>
      <span class="muted"> since {moment(opened?.start ?? 0)}</span>
      {found?.value !== undefined && found.value.text !== "undefined" && (
        <Value key={found.seq} run={run} of={found.seq} first={found.value} label="payload" />
      )}
      {canAnswer && <AnswerForm run={run} wait={call.key} name={call.name ?? ""} queued={queued} />}
    </div>
  );
}

function Published({
  run,
  model,
  seq,
  onSelect,
}: {
  run: string;
  model: Model;
  seq: number;
  onSelect(key: string): void;
}): JSX.Element | null {
  const last = new Map<string, Call>();
  for (const call of model.calls.values()) {
    if (call.kind !== "publish" || rowsAt(call, seq).length === 0) continue;
    const before = last.get(call.name ?? "");
    if (before === undefined || before.rows.at(-1)!.seq < call.rows.at(-1)!.seq) last.set(call.name ?? "", call);
  }
  if (last.size === 0) return null;
  return (
    <Section title="Published">
      <dl class="facts">
        {[...last].slice(0, 50).map(([name, call]) => (
          <PublishedValue key={name} run={run} name={name} call={call} onSelect={onSelect} />
        ))}
      </dl>
    </Section>
  );
}

interface PublishedProps {
  run: string;
  name: string;
  call: Call;
  onSelect(key: string): void;
}

function PublishedValue({ run, name, call, onSelect }: PublishedProps): JSX.Element {
  const { seq } = call.rows.at(-1)!;
  const { found } = useEntry(run, seq);
  return (
    <div>
      <dt>
        <button type="button" class="link" onClick={() => onSelect(call.key)}>
          <bdi>{name}</bdi>
        </button>
      </dt>
      <dd>{found?.value !== undefined && <Value key={seq} run={run} of={seq} first={found.value} label={name} />}</dd>
    </div>
  );
}

/** What would happen if the run were resumed with the workflows at hand. */
function TryBuild({ run }: { run: string }): JSX.Element {
  const [view, setView] = useState<ReplayView | "asked" | { problem: string } | undefined>();
  const look = (): void => {
    setView("asked");
    api
      .replay(run)
      .then(setView, (error) => setView({ problem: error instanceof Refusal ? error.message : String(error) }));
  };
  return (
    <Section title="With the workflows at hand">
      <p class="muted">Goes through the run without running any step: what would a resume do?</p>
      <button type="button" class="plain" disabled={view === "asked"} onClick={look}>
        {view === "asked" ? "Replaying…" : "Try a replay"}
      </button>
      <div aria-live="polite">
        {typeof view === "object" && "problem" in view && <p class="problem">{view.problem}</p>}
        {typeof view === "object" && "ok" in view && (
          <>
            <p class={view.ok ? "notice" : "notice is-bad"}>
              <bdi>{view.words}</bdi>
            </p>
            {view.error !== undefined && !view.ok && <ErrorText error={view.error} />}
          </>
        )}
      </div>
    </Section>
  );
}

function Keys({
  title,
  keys,
  onSelect,
}: {
  title: string;
  keys: readonly string[];
  onSelect(key: string): void;
}): JSX.Element | null {
  if (keys.length === 0) return null;
  return (
    <Section title={title}>
      <ul class="below">
        {keys.slice(0, 100).map((key) => (
          <li key={key}>
            <button type="button" class="link" onClick={() => onSelect(key)}>
              <bdi>{key}</bdi>
            </button>
          </li>
        ))}
        {keys.length > 100 && <li class="muted">and {keys.length - 100} more</li>}
      </ul>
    </Section>
  );
}
