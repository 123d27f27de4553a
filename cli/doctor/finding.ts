/** What `stepmark doctor` has to say of one thing that it has looked at. */

export interface Finding {
  readonly level: "ok" | "warning" | "error";
  /** What was looked at: `node`, `tsconfig.json`, `store`, ... */
  readonly of: string;
  readonly what: string;
  readonly cure?: string;
}

export const ok = (of: string, what: string): Finding => ({ level: "ok", of, what });
export const warning = (of: string, what: string, cure: string): Finding => ({ level: "warning", of, what, cure });
export const error = (of: string, what: string, cure: string): Finding => ({ level: "error", of, what, cure });
