/** The transformer's own error. */

/** Options of the transformer, or of the compiler, with which it cannot do its work. `docs/errors.md` has its section. */
export class TransformerOptionsError extends TypeError {
  readonly code = "TRANSFORMER_OPTIONS";

  constructor(what: string, cure: string) {
    super(`${what}. ${cure} [TRANSFORMER_OPTIONS]`);
    this.name = "TransformerOptionsError";
  }
}

/** A lock file that cannot be used. `docs/errors.md` has its section. */
export class LockFileError extends Error {
  readonly code = "LOCK_FILE";

  constructor(what: string, cure: string) {
    super(`${what}. ${cure} [LOCK_FILE]`);
    this.name = "LockFileError";
  }
}
