/** Small signs, drawn with the colour of the text around. Never the only thing that tells something. */
import type { ComponentChildren, JSX } from "preact";
import type { JournalRow, RunLine } from "../wire.js";

function Sign({ children, class: name }: { children: ComponentChildren; class?: string }): JSX.Element {
  return (
    <svg class={`sign ${name ?? ""}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      {children}
    </svg>
  );
}

const line = {
  fill: "none",
  stroke: "currentColor",
  "stroke-width": "1.6",
  "stroke-linecap": "round",
  "stroke-linejoin": "round",
} as const;

export function KindSign({ kind, status }: { kind: JournalRow["kind"]; status: string | undefined }): JSX.Element {
  return <Sign class={`kind kind-${kind} is-${status ?? "unknown"}`}>{kinds[kind]}</Sign>;
}

const kinds: Readonly<Record<JournalRow["kind"], JSX.Element>> = {
  step: <rect x="3" y="5" width="10" height="6" rx="1.5" fill="currentColor" />,
  wait: (
    <path
      d="M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11ZM6.4 6.4a1.7 1.7 0 1 1 2.2 1.7c-.5.2-.6.5-.6.9M8 11v.1"
      {...line}
    />
  ),
  timer: <path d="M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11ZM8 5.2V8l1.9 1.3" {...line} />,
  child: <path d="M4 3v6.5a2 2 0 0 0 2 2h5.5M9 9l2.7 2.5L9 14" {...line} />,
  value: <path d="M8 4.2 11.8 8 8 11.8 4.2 8Z" fill="currentColor" />,
  publish: <path d="M8 12.5v-8M4.8 7.4 8 4.2l3.2 3.2" {...line} />,
  changed: <path d="M8 3.6 13 12.4H3Z" {...line} />,
  accept: <path d="m4.5 8.3 2.4 2.4 4.6-5" {...line} />,
};

export function RunSign({ run }: { run: Pick<RunLine, "status" | "left"> }): JSX.Element {
  return <Sign class={`run-sign run-${run.left ? "left" : run.status}`}>{runs[run.left ? "left" : run.status]}</Sign>;
}

const runs: Readonly<Record<RunLine["status"] | "left", JSX.Element>> = {
  running: <circle cx="8" cy="8" r="4" fill="currentColor" />,
  left: <path d="M8 3.4 13.4 12.6H2.6ZM8 6.8v2.6M8 11.1v.1" {...line} />,
  waiting: <path d="M6 4.5v7M10 4.5v7" {...line} stroke-width="2" />,
  completed: <path d="m3.8 8.4 2.8 2.8 5.6-6" {...line} stroke-width="2" />,
  failed: <path d="m4.4 4.4 7.2 7.2M11.6 4.4l-7.2 7.2" {...line} stroke-width="2" />,
  cancelled: <path d="M8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3ZM4.6 4.6l6.8 6.8" {...line} />,
};

/** How a run stands, in words. */
export function runWords({ status, left }: Pick<RunLine, "status" | "left">): string {
  return left ? "left behind" : status;
}

export function Chevron({ open }: { open: boolean }): JSX.Element {
  return (
    <Sign class={`chevron ${open ? "is-open" : ""}`}>
      <path d="M6 4.5 9.5 8 6 11.5" {...line} />
    </Sign>
  );
}

const drawings = {
  play: <path d="M5.5 3.8v8.4L12 8Z" fill="currentColor" />,
  stop: <path d="M5 4v8M11 4v8" {...line} stroke-width="2.2" />,
  first: <path d="M11 4 7 8l4 4M4.6 4v8" {...line} />,
  back: <path d="M10 4 6 8l4 4" {...line} />,
  next: <path d="m6 4 4 4-4 4" {...line} />,
  last: <path d="m5 4 4 4-4 4M11.4 4v8" {...line} />,
  plus: <path d="M8 3.5v9M3.5 8h9" {...line} />,
  minus: <path d="M3.5 8h9" {...line} />,
  fit: <path d="M3 6V3h3M13 6V3h-3M3 10v3h3M13 10v3h-3" {...line} />,
  fold: <path d="M3 8h2.5M10.5 8H13M7 5v6M9 5v6" {...line} />,
  sun: (
    <path
      d="M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6ZM8 1.5v1.2M8 13.3v1.2M1.5 8h1.2M13.3 8h1.2M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9"
      {...line}
    />
  ),
  moon: <path d="M13 9.6A5.4 5.4 0 0 1 6.4 3a5.4 5.4 0 1 0 6.6 6.6Z" {...line} />,
  system: <path d="M2.5 3.5h11v7.5h-11ZM6 13.5h4" {...line} />,
  copy: <path d="M6 6h7v7H6ZM10 6V3H3v7h3" {...line} />,
  search: <path d="M7 3a4 4 0 1 1 0 8 4 4 0 0 1 0-8Zm3 7 3.2 3.2" {...line} />,
} as const;

export function Drawing({ of }: { of: keyof typeof drawings }): JSX.Element {
  return <Sign>{drawings[of]}</Sign>;
}
