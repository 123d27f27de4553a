/** Every public error has a code of its own, a section in docs/errors.md, and code that gets it, whose message helps. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import * as errors from "../../runtime/errors.js";
import * as transformerErrors from "../../transformer/errors.js";
import { provocations } from "./provocations.js";

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");
const docs = read("../../docs/errors.md");
const here = read("./provocations.ts").split("\n");
const source = read("../../runtime/errors.ts") + read("../../transformer/errors.ts");

/** The exported classes with their codes, as the source has them. */
const codes = [
  ...source.matchAll(/^export class (\w+) extends (?:(?!^export class)[\s\S])*?"([A-Z]+(?:_[A-Z]+)*)"/gm),
].map(([, name, code]) => ({ name: name!, code: code! }));
const classes: Record<string, unknown> = { ...errors, ...transformerErrors };

interface Told extends Error {
  code: string;
  at?: string;
}

describe("every exported error", () => {
  it("is found in the source, with a code of its own", () => {
    expect(codes.map(({ name }) => name).sort()).toEqual(
      Object.keys(classes)
        .filter((name) => name !== "StepmarkError")
        .sort(),
    );
    expect(new Set(codes.map(({ code }) => code)).size).toBe(codes.length);
  });

  it.each(codes)("$code has a section and a provocation", ({ name, code }) => {
    const section = new RegExp(`^## ${code}\\n\\n\`${name}\`([\\s\\S]*?)(?=\\n## |$(?![\\s\\S]))`, "m").exec(docs);
    expect(section?.[1], "what docs/errors.md says").toMatch(/\*\*Cure\*\*: \S/);
    expect(provocations.map((each) => each.code)).toContain(code);
  });

  it("and no other has a section or a provocation", () => {
    const known = codes.map(({ code }) => code);
    expect([...docs.matchAll(/^## ([A-Z_]+)$/gm)].map(([, code]) => code).sort()).toEqual([...known].sort());
    expect(provocations.filter(({ code }) => !known.includes(code))).toEqual([]);
  });
});

describe("a user gets", () => {
  it.each(provocations)("$code when $when", async ({ code, provoke, message }) => {
    const error = (await provoke()) as Told;
    expect(error.message.replace(/(provocations\.ts):\d+/g, "$1:#")).toBe(message);
    expect(error.code).toBe(code);
    if (error.at?.includes("provocations.ts")) expect(here[Number(error.at.split(":")[1]) - 1]).toContain(`// ${code}`);
    if (code !== "NON_RETRYABLE" && code !== "RETRYABLE")
      expect(message).toMatch(new RegExp(`[.)] [A-Z\`].+\\. \\[${code}\\]$`));
    const { name } = codes.find((each) => each.code === code)!;
    // The one from a process of its own has come as text.
    if (code !== "VERSION_CONFLICT")
      expect([error.name, error]).toEqual([name, expect.any(classes[name] as () => void)]);
  });
});
