/**
 * Schemas that check what comes from outside, by the Standard Schema interface (https://standardschema.dev, version 1):
 * those of Zod, Valibot, ArkType and others.
 */

/** A schema for values that are `Output` once they have been checked. */
export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    validate(value: unknown): SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined;
}

export function isSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const standard = (value as Partial<StandardSchema>)["~standard"];
  return typeof standard?.validate === "function";
}

/** `$.items[3].name: expected string`. */
export function describeIssue({ message, path = [] }: SchemaIssue): string {
  const parts = path.map((part) => (typeof part === "object" ? part.key : part));
  const spelt = parts.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`));
  return `$${spelt.join("")}: ${message}`;
}
