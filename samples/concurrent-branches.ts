/**
 * Branches that run at once and end in another order on every pass: two summaries, pages, a site map, a queue, a race,
 * the first few of many, a limiter.
 */
import { setTimeout as delay } from "node:timers/promises";
import pLimit from "p-limit";
import { type MemoryStore, memoryStore, type Run, Stepmark, step, type Workflow, workflow } from "stepmark";
import { inOneProcess, killedAfter, killedAfterEveryEntry } from "./runner/plays.js";
import { inProcesses } from "./runner/processes.js";
import type { Outcome, Scenario } from "./runner/scenario.js";
import { note, notes, work } from "./runner/work.js";

// --- B1, B2, B3: the branch that comes first live comes second on replay -------------------------------------------

/** What the branches tell each other in memory, past the journal. */
const downloading = signal();
const mayEnd = signal();
const firstSummarised = signal();

/** Takes a moment, so that the second branch comes second on replay, where the download is a hit. */
async function downloadHasBegun(): Promise<void> {
  await downloading.given;
  await delay(10);
}

async function download(document: string): Promise<string> {
  note(`download ${document}`);
  downloading.give();
  await mayEnd.given;
  return document;
}

/** The summary of B lets the download end, and waits for the summary of A. */
async function summarise(document: string): Promise<string> {
  note(`summarise ${document}`);
  if (document === "A") firstSummarised.give();
  else {
    mayEnd.give();
    await firstSummarised.given;
  }
  return `summary of ${document}`;
}

const summariseBoth = workflow("summarise-both", async () =>
  Promise.all([
    (async () => {
      await step(download, "A");
      return step(summarise, "A");
    })(),
    (async () => {
      await downloadHasBegun();
      return step(summarise, "B");
    })(),
  ]),
);

const summary = (document: string): Promise<string> => step(summarise, document);

const summariseBothByHelper = workflow("summarise-both-by-helper", async () =>
  Promise.all([
    (async () => {
      await step(download, "A");
      return summary("A");
    })(),
    (async () => {
      await downloadHasBegun();
      return summary("B");
    })(),
  ]),
);

let tickets = 0;

async function drawTicket(): Promise<number> {
  note("ticket");
  return ++tickets;
}

const ticket = (): Promise<number> => step(drawTicket);

const ticketsForBoth = workflow("tickets-for-both", async () =>
  Promise.all([
    (async () => {
      await step(download, "A");
      return ticket();
    })(),
    (async () => {
      await downloadHasBegun();
      const second = await ticket();
      mayEnd.give();
      return second;
    })(),
  ]),
);

/** The finished run, and a replay by a fresh app of the journal as a crash right before the end would have left it. */
async function replayed(branches: Workflow<void, unknown>): Promise<Outcome> {
  const { live, bodies, whole } = await firstPass(branches);
  const again = await secondPass(branches, whole);
  return { result: { live, replay: again.result }, bodies: [bodies, again.bodies] };
}

/** The same with a journal that ends after so many of its three entries. */
async function replayedFrom(branches: Workflow<void, unknown>, kept: number): Promise<Outcome> {
  const { live, bodies, whole } = await firstPass(branches);
  const again = await secondPass(branches, whole.fork("run", kept));
  return { result: { live, replay: again.result }, bodies: [bodies, again.bodies] };
}

async function firstPass(branches: Workflow<void, unknown>) {
  const store = memoryStore();
  const run = await new Stepmark({ store, workflows: [branches] }).start(branches, undefined, { id: "run" });
  const whole = await crashedAfter(3, run, store);
  return { live: await run.result(), bodies: notes(), whole };
}

async function secondPass(branches: Workflow<void, unknown>, store: MemoryStore) {
  const before = notes().length;
  const run = await new Stepmark({ store, workflows: [branches] }).resume("run");
  return { result: await run.result(), bodies: notes().slice(before) };
}

/** The store as a crash would leave it as soon as so many entries are durable. */
async function crashedAfter(entries: number, run: Run, store: MemoryStore): Promise<MemoryStore> {
  for await (const { seq } of run.events()) if (seq === entries) return store.fork();
  throw new Error(`The run ended before entry ${entries}`);
}

/** In a new process nobody gives the signal that the second branch waits for: that must not look like "running". */
async function stalledInNewProcess(id: string): Promise<Outcome> {
  return inProcesses(id, async (processes) => {
    await processes.start({ ends: ["download A", "summarise A"], atOnce: true });
    const error = await processes.resume().catch((error: Error) => error.name);
    return processes.outcome(error);
  });
}

function signal(): { given: Promise<void>; give: () => void } {
  let give!: () => void;
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give };
}

// --- B4: every page is loaded, then rendered, all at once ----------------------------------------------------------

async function load(page: string): Promise<string> {
  await work(`load ${page}`);
  return `text of ${page}`;
}

async function render(text: string): Promise<string> {
  await work(`render ${text.at(-1)}`);
  return `<p>${text}</p>`;
}

const publishPages = workflow("publish-pages", async (pages: string[]) =>
  Promise.all(pages.map(async (page) => step(render, await step(load, page)))),
);

// --- B5: a site is crawled by a function that calls itself for each link --------------------------------------------

const site: Record<string, { title: string; links: string[] }> = {
  "/": { title: "Home", links: ["/docs", "/blog"] },
  "/docs": { title: "Docs", links: ["/api", "/contact"] },
  "/blog": { title: "Blog", links: ["/contact"] },
  "/api": { title: "API", links: [] },
  "/contact": { title: "Contact", links: [] },
};

async function fetchPage(url: string): Promise<{ title: string; links: string[] }> {
  await work(`fetch ${url}`);
  return site[url]!;
}

interface Crawled {
  title: string;
  below: Crawled[];
}

async function crawl(url: string): Promise<Crawled> {
  const { title, links } = await step(fetchPage, url);
  return { title, below: await Promise.all(links.map(crawl)) };
}

const crawlSite = workflow("crawl-site", async (url: string) => crawl(url));

// --- B6: two workers take images from one queue --------------------------------------------------------------------

async function shrink(image: string): Promise<string> {
  await work(`shrink ${image}`);
  return `small ${image}`;
}

const shrinkImages = workflow("shrink-images", async (images: string[]) => {
  const queue = [...images];
  const results: Record<string, string> = {};
  const worker = async (): Promise<void> => {
    for (let image = queue.shift(); image !== undefined; image = queue.shift()) {
      results[image] = await step(shrink, image);
    }
  };
  await Promise.all([worker(), worker()]);
  return images.map((image) => results[image]);
});

// --- B7: two suppliers race for an order, the slower is asked first -------------------------------------------------

async function askSupplier(name: string): Promise<string> {
  await work(`ask ${name}`);
  return name;
}

async function orderFrom(name: string): Promise<string> {
  await work(`order from ${name}`);
  return `ordered from ${name}`;
}

const orderFromFastest = workflow("order-from-fastest", async () => {
  const fastest = await Promise.race([step(askSupplier, "slow"), step(askSupplier, "fast")]);
  return step(orderFrom, fastest);
});

// --- B8: the first three of five search engines are listened to -----------------------------------------------------

async function search(engine: string): Promise<string> {
  await work(`search ${engine}`);
  return engine;
}

async function rank(answers: string[]): Promise<string> {
  await work(`rank ${answers.join(" ")}`);
  return answers.join(", ");
}

const searchFirstThree = workflow("search-first-three", async (engines: string[]) => {
  const answers: string[] = [];
  await new Promise<void>((resolve) => {
    for (const engine of engines) {
      void step(search, engine).then((answer) => {
        if (answers.push(answer) === 3) resolve();
      });
    }
  });
  return step(rank, answers.slice(0, 3));
});

// --- B9: as B4, and no more than two pages are rendered at a time ----------------------------------------------------

// This version of p-limit does not bind the async context: a page that waits is rendered in that of another.
const publishFewAtATime = workflow("publish-few-at-a-time", async (pages: string[]) => {
  const limit = pLimit(2);
  return Promise.all(
    pages.map(async (page) => {
      const text = await step(load, page);
      return limit(async () => step(render, text));
    }),
  );
});

// ------------------------------------------------------------------------------------------------------------------

const bothSummaries = ["summary of A", "summary of B"];
const renderedPages = [
  "<p>text of a</p>",
  "<p>text of b</p>",
  "<p>text of c</p>",
  "<p>text of d</p>",
  "<p>text of e</p>",
];

export const scenarios: readonly Scenario[] = [
  {
    id: "B1",
    what: "two branches, one comes first live and second on replay; the whole journal is replayed",
    script: () => replayed(summariseBoth),
    play: inOneProcess,
    expected: {
      result: { live: bothSummaries, replay: bothSummaries },
      bodies: [["download A", "summarise B", "summarise A"], []],
    },
  },
  {
    id: "B1 stall",
    what: "the same in a new process, where a plain promise of the branch never settles",
    workflow: summariseBoth,
    options: () => ({ stallAfter: 200 }),
    play: stalledInNewProcess,
    expected: { result: "StalledError", bodies: [["download A", "summarise B", "summarise A"], []] },
  },
  {
    id: "B2",
    what: "the journal holds only one of the two summaries",
    script: () => replayedFrom(summariseBoth, 2),
    play: inOneProcess,
    expected: {
      result: { live: bothSummaries, replay: bothSummaries },
      bodies: [["download A", "summarise B", "summarise A"], ["summarise B"]],
    },
  },
  {
    id: "B3 helper",
    what: "both branches through one helper function",
    script: () => replayed(summariseBothByHelper),
    play: inOneProcess,
    expected: {
      result: { live: bothSummaries, replay: bothSummaries },
      bodies: [["download A", "summarise B", "summarise A"], []],
    },
  },
  {
    id: "B3 equal",
    what: "one helper, equal arguments, a body that counts; the whole journal is replayed",
    script: () => replayed(ticketsForBoth),
    play: inOneProcess,
    expected: { result: { live: [2, 1], replay: [2, 1] }, bodies: [["download A", "ticket", "ticket"], []] },
  },
  {
    id: "B3 cut",
    what: "the same, and the journal holds only the second branch's ticket",
    script: () => replayedFrom(ticketsForBoth, 2),
    play: inOneProcess,
    expected: { result: { live: [2, 1], replay: [3, 1] }, bodies: [["download A", "ticket", "ticket"], ["ticket"]] },
  },
  {
    id: "B4",
    what: "load and render five pages at once, killed after every entry; bodies: recorded → run again",
    workflow: publishPages,
    input: ["a", "b", "c", "d", "e"],
    play: killedAfterEveryEntry(
      ["c", "a", "e", "b", "d"].flatMap((page) => [`load ${page}`, `render ${page}`]),
      [
        ...["load e", "load d", "load c", "load b", "load a"],
        ...["render a", "render b", "render c", "render d", "render e"],
      ],
      [
        ...["load b", "load d", "render d", "load a", "render b"],
        ...["load e", "render e", "render a", "load c", "render c"],
      ],
    ),
    expected: {
      result: renderedPages,
      bodies: [
        ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"],
        ["10", "9", "8", "7", "6", "5", "4", "3", "2", "1", "0"],
      ],
    },
  },
  {
    id: "B5",
    what: "a crawler that calls itself for each link, killed in the middle",
    workflow: crawlSite,
    input: "/",
    play: killedAfter("fetch /", "fetch /blog", "fetch /contact", "fetch /docs"),
    expected: {
      result: {
        title: "Home",
        below: [
          {
            title: "Docs",
            below: [
              { title: "API", below: [] },
              { title: "Contact", below: [] },
            ],
          },
          { title: "Blog", below: [{ title: "Contact", below: [] }] },
        ],
      },
      bodies: [
        ["fetch /", "fetch /docs", "fetch /blog", "fetch /contact", "fetch /api", "fetch /contact"],
        ["fetch /api", "fetch /contact"],
      ],
    },
  },
  {
    id: "B6",
    what: "two workers, one queue of images, killed after every entry; bodies: recorded → run again",
    workflow: shrinkImages,
    input: ["1", "2", "3", "4", "5"],
    play: killedAfterEveryEntry(
      ["shrink 2", "shrink 3", "shrink 1", "shrink 4", "shrink 5"],
      ["shrink 1", "shrink 2", "shrink 4", "shrink 5", "shrink 3"],
    ),
    expected: {
      result: ["small 1", "small 2", "small 3", "small 4", "small 5"],
      bodies: [
        ["0", "1", "2", "3", "4", "5"],
        ["5", "4", "3", "2", "1", "0"],
      ],
    },
  },
  {
    id: "B7",
    what: "a race, the slower listed first, killed when both are recorded: the live winner wins again",
    workflow: orderFromFastest,
    play: killedAfter("ask fast", "ask slow"),
    expected: {
      result: "ordered from fast",
      bodies: [["ask slow", "ask fast", "order from fast"], ["order from fast"]],
    },
  },
  {
    id: "B8",
    what: "the first three of five, killed when four are recorded: the same three in the same order",
    workflow: searchFirstThree,
    input: ["a", "b", "c", "d", "e"],
    play: killedAfter("search c", "search a", "search e", "search b"),
    expected: {
      result: "c, a, e",
      bodies: [
        ["search a", "search b", "search c", "search d", "search e", "rank c a e"],
        ["search d", "rank c a e"],
      ],
    },
  },
  {
    id: "B9",
    what: "B4 through a limiter that does not bind async context; bodies: recorded → run again",
    workflow: publishFewAtATime,
    input: ["a", "b", "c", "d", "e"],
    play: killedAfterEveryEntry(
      [
        ...["load c", "load a", "load e", "render a", "load b"],
        ...["render c", "render e", "load d", "render b", "render d"],
      ],
      [
        ...["load e", "load d", "load c", "load b", "load a"],
        ...["render d", "render e", "render b", "render c", "render a"],
      ],
    ),
    expected: {
      result: renderedPages,
      bodies: [
        ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"],
        ["10", "9", "8", "7", "6", "5", "4", "3", "2", "1", "0"],
      ],
    },
  },
];
