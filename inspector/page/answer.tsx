/** A form that answers an open wait. */
import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { api, Refusal } from "./api.js";

export interface AnswerProps {
  run: string;
  /** The wait's key. */
  wait: string;
  name: string;
  /** An answer has been given, and no process has taken it yet. */
  queued: boolean;
}

type Said = { kind: "sent" } | { kind: "refused"; message: string; issues: readonly string[] };

export function AnswerForm({ run, wait, name, queued }: AnswerProps): JSX.Element {
  const [text, setText] = useState("");
  const [said, setSaid] = useState<Said | undefined>();
  const [sending, setSending] = useState(false);
  const id = useId();
  const { value, fault } = parsed(text);
  const canSend = text.trim() !== "" && fault === undefined && !sending;
  if (queued)
    return <p class="notice">An answer has been given. It is taken as soon as a process goes on with the run.</p>;
  const send = async (): Promise<void> => {
    if (!canSend) return;
    setSending(true);
    try {
      await api.answer(run, wait, value);
      setSaid({ kind: "sent" });
      setText("");
    } catch (error) {
      const { message, issues } = error instanceof Refusal ? error : new Refusal(0, "", String(error));
      setSaid({ kind: "refused", message, issues });
    }
    setSending(false);
  };
  return (
    <form
      class="answer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <label for={id}>
        Answer <bdi class="mono">{name}</bdi> with JSON
      </label>
      <textarea
        id={id}
        rows={3}
        spellcheck={false}
        autocomplete="off"
        placeholder='true, "text", { "amount": 12 }'
        value={text}
        aria-invalid={text.trim() !== "" && fault !== undefined}
        aria-describedby={`${id}-said`}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          setSaid(undefined);
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          void send();
        }}
      />
      <div id={`${id}-said`} class="answer-said" aria-live="polite">
        {said === undefined && text.trim() !== "" && fault !== undefined && <p class="problem">{fault}</p>}
        {said?.kind === "sent" && <p class="notice">Given.</p>}
        {said?.kind === "refused" && (
          <div class="problem" role="alert">
            <p>{said.message}</p>
            {said.issues.length > 0 && (
              <ul>
                {said.issues.map((issue) => (
                  <li key={issue}>
                    <bdi>{issue}</bdi>
                  </li>
                ))}
              </ul>
            )}
          </div>
        )}
      </div>
      <div class="answer-tools">
        <button type="submit" class="primary" disabled={!canSend}>
          {sending ? "Sending…" : "Answer"}
        </button>
        <span class="muted">Ctrl + Enter</span>
      </div>
    </form>
  );
}

function parsed(text: string): { value?: unknown; fault?: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { fault: `No JSON yet: ${(error as Error).message}` };
  }
}
