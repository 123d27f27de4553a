/** The pictures of the docs are those of runs as they are now. `npm run pictures` writes them. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { transformText } from "../../transformer/transform-text.js";
import { keyPicture } from "./key-picture.js";
import { replayPicture } from "./replay-picture.js";
import { type Told, tell } from "./runs.js";

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

let told: Told;
beforeAll(async () => {
  told = await tell();
});

describe("the runs of the pictures", () => {
  it("are what the pictures say: what was recorded is answered in its order, and no body of it runs again", () => {
    const keysOf = (each: readonly { key: string }[]): string[] => each.map(({ key }) => key);
    expect(keysOf(told.recorded)).toEqual(["fulfil/map()[1]/reserve", "fulfil/map()/reserve", "fulfil/map()/getQuote"]);
    const live = ["fulfil/map()[1]/getQuote", "fulfil/book", "fulfil/book@1"];
    expect(keysOf(told.second.filter(({ what }) => what === "begins"))).toEqual(live);
    expect(keysOf(told.entries)).toEqual([...keysOf(told.recorded), ...live]);
  });
});

describe("docs/pictures", () => {
  it("key.svg is up to date", async () => {
    const file = here("flow.ts");
    const source = readFileSync(file, "utf8");
    const { sites } = transformText(source, { file, root: here("../..") })!;
    await expect(keyPicture({ source, sites, entries: told.entries })).toMatchFileSnapshot(
      here("../../docs/pictures/key.svg"),
    );
  });

  it("replay.svg is up to date", async () => {
    await expect(replayPicture(told)).toMatchFileSnapshot(here("../../docs/pictures/replay.svg"));
  });
});
