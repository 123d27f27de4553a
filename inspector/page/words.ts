/** How things are called on the page. */
import type { JournalRow } from "../wire.js";
import type { CallStatus } from "./model.js";

export function statusWords(kind: JournalRow["kind"], status: CallStatus): string {
  switch (status) {
    case "trying":
      return "under way";
    case "timedOut":
      return "timed out";
    case "failed":
      return "failed";
    case "open":
      return kind === "timer" ? "sleeping" : kind === "child" ? "under way" : "open";
    case "done":
      return done[kind];
  }
}

const done: Readonly<Record<JournalRow["kind"], string>> = {
  step: "completed",
  wait: "answered",
  timer: "fired",
  value: "recorded",
  publish: "published",
  child: "completed",
  changed: "decided",
  accept: "accepted",
};

export const kindWords: Readonly<Record<JournalRow["kind"], string>> = {
  step: "Step",
  wait: "Wait",
  timer: "Sleep",
  value: "Value",
  publish: "Published",
  child: "Child run",
  changed: "Change",
  accept: "Accepted",
};
