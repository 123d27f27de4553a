/** `stepmark sites`: every call site of the project. */
import { bornBy } from "../../transformer/lock/as-born.js";
import { command } from "../command.js";
import { nameOf, whereIs } from "../place-text.js";
import { projectOptions, readSources } from "../project.js";

export const sites = command({
  usage: ["sites [--all] [--json]"],
  about: `Lists every call site of the project: where it stands, its name in its function, and the name that its keys are made of if
the lock file says that it was born with another.`,
  options: {
    all: { type: "boolean", help: "marked calls and functions too" },
    json: { type: "boolean", help: "as data" },
    ...projectOptions,
  },
  async run({ values }, { print }) {
    const { files, lock } = readSources(values);
    const listed = files.flatMap(({ path, rows, places }) => {
      const born = bornBy(lock?.of(path) ?? [])(rows, (row) => places[row]!.own).rows;
      return places
        .filter(({ kind }) => values.all || kind === "site")
        .map((place) => {
          const [, anchor, , , , , , details] = born[place.row]!;
          return { place, id: anchor, tag: details?.tag };
        });
    });
    if (values.json) {
      const data = listed.map(({ place: { path, line, kind, container, anchor }, id, tag }) => ({
        path,
        line,
        kind,
        container,
        anchor,
        id,
        ...(tag !== undefined && { tag }),
      }));
      print(JSON.stringify(data, undefined, 2));
      return 0;
    }
    const width = Math.max(0, ...listed.map(({ place }) => whereIs(place).length));
    for (const { place, id, tag } of listed) {
      const born = id === place.anchor ? "" : `  born as ${id}`;
      print(`${whereIs(place).padEnd(width)}  ${nameOf(place)}${born}${lock && tag === undefined ? "  (new)" : ""}`);
    }
    return 0;
  },
});
