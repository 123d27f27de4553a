/** What `stepmark/register` and the command line go by: the field "stepmark" of the project's package.json. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { TransformerOptionsError } from "../../errors.js";
import { type HostOptions, projectFolder } from "../host-transform.js";

export interface Project {
  /** Folder of the package.json. */
  readonly folder: string;
  readonly options: HostOptions;
  /** Where the options are, for errors. */
  readonly where: string;
}

/**
 * @param from a folder of the project
 * @throws TransformerOptionsError if the field is no object
 */
export function readProject(from: string): Project {
  const folder = projectFolder(from);
  const file = path.join(folder, "package.json");
  const options = fieldOf(file);
  const where = `the field "stepmark" in ${file}`;
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new TransformerOptionsError(
      `stepmark: ${where} has to be an object, not ${JSON.stringify(options)}`,
      'For instance `"stepmark": { "include": ["src/flows/**"] }`.',
    );
  }
  return { folder, options, where };
}

function fieldOf(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return {};
  }
  const { stepmark = {} } = JSON.parse(text) as { stepmark?: unknown };
  return stepmark;
}
