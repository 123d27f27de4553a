/** Sites of one function with the same text: told apart by their order alone, which an edit may change. */
import type { Finding, Rule } from "./finding.js";

export const identicalCalls: Rule = ({ source, found, fingerprints }) => {
  return found.functions.flatMap(({ calls }) => {
    const first = new Map<string, number>();
    return calls.flatMap(({ node, sited }): Finding[] => {
      // All calls of `changed` with one id are meant to be one.
      if (sited === undefined || sited === "changed") return [];
      const text = fingerprints.call(node);
      const line = first.get(text);
      if (line !== undefined) {
        const what = `This call of \`${sited}\` has the text of that on line ${line}`;
        return [{ code: "STEPMARK7001", at: node, what }];
      }
      first.set(text, source.file.getLineAndCharacterOfPosition(node.getStart(source.file)).line + 1);
      return [];
    });
  });
};
