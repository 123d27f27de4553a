/** What a scenario is: a workflow, what happens to its processes, and what must come of it. */
import type { AnyWorkflow, Stepmark, StepmarkOptions } from "stepmark";

export interface Scenario {
  /** As it is listed, for instance `B4`; where one scenario has several rows, `A8 concurrent`. */
  id: string;
  what: string;
  /** What each of the scenario's processes runs; a scenario without one has a `script`. */
  workflow?: AnyWorkflow;
  input?: unknown;
  /** Options of the `Stepmark` in each process; the default is the SQLite file `./.stepmark/runs.db`. */
  options?: () => StepmarkOptions;
  /** For scenarios whose processes are servers: makes one of the app, and tells its port. */
  serve?: (app: Stepmark) => Promise<number>;
  /** For scenarios whose processes do something else than start or resume one run. */
  script?: () => Promise<unknown>;
  /** Starts, kills and resumes the processes. */
  play(id: string): Promise<Outcome>;
  expected: Outcome;
  /** What came of it as a picture, for those who ask for this very scenario. */
  show?: (outcome: Outcome) => string;
}

/** What a scenario came to, seen from outside of the journal. */
export interface Outcome {
  result: unknown;
  /** The step bodies that ran in each process, in the order in which they began. */
  bodies: string[][];
}
