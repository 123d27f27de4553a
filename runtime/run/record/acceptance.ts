/**
 * What resumes of a run have accepted of what its record and the code differ in: this one, and those before, as far as the
 * journal tells. What this one accepts holds for those after it as soon as an entry has said so.
 */
import type { Accepted, Entry } from "../../journal/entry.js";
import type { EditedCode } from "./edited-code.js";
import type { AcceptedRecord } from "./record.js";

/** What this resume accepts, as whoever asked for it says. */
export interface AcceptanceOptions {
  acceptEdits: boolean;
  continueDivergence: boolean;
}

export class Acceptance {
  /** Whether the journal says what this resume accepts. */
  private isSaid: boolean;

  constructor(
    private readonly now: AcceptanceOptions,
    private readonly before: AcceptedRecord,
    private readonly code: EditedCode,
  ) {
    this.isSaid = !(now.acceptEdits || now.continueDivergence);
  }

  /** What this resume accepts, if the journal does not say so yet. */
  get unsaid(): AcceptanceOptions | undefined {
    return this.isSaid ? undefined : this.now;
  }

  /** What the next entry is to say of what is accepted, so that it holds from then on. */
  takeNews(): Pick<Entry, "accepted"> | undefined {
    if (this.isSaid) return undefined;
    this.isSaid = true;
    const accepted: Accepted = {};
    if (this.now.acceptEdits) accepted.edits = this.code.build;
    if (this.now.continueDivergence) accepted.divergence = true;
    return { accepted };
  }

  /** Whether what edits of the code did to a call that was recorded under that number is accepted. */
  ofEdits(seq: number): boolean {
    if (this.now.acceptEdits) return true;
    const { edits } = this.before;
    return edits !== undefined && seq < edits.before && this.code.isBuild(edits.build);
  }

  /** Whether another path than the one on which a call was recorded under that number is accepted. */
  ofDivergence(seq: number): boolean {
    return this.now.continueDivergence || this.wasOfDivergence(seq);
  }

  /** The same of resumes before this one. */
  wasOfDivergence(seq: number): boolean {
    return seq < this.before.divergence;
  }

  /** Whether there may be a call whose other path is accepted. */
  get isOfAnyDivergence(): boolean {
    return this.now.continueDivergence || this.before.divergence > 0;
  }

  /** Whether another path is accepted, wherever it leads. */
  get isOfAllDivergence(): boolean {
    return this.now.continueDivergence;
  }
}
