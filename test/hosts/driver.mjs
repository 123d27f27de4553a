/**
 * Runs built fixtures: `node driver.mjs <json>`, where the JSON says where each fixture's entry is. Each workflow runs once in
 * a memory store, and is resumed from every prefix of its journal. Prints what was seen as JSON.
 *
 * It is plain JavaScript, and imports the library in a way that no host takes for an import of it.
 */
import { createRequire } from "node:module";
import process from "node:process";
import { fileURLToPath } from "node:url";

const { entries, required } = JSON.parse(process.argv[2]);
const [library] = ["stepmark"];
const { memoryStore, Stepmark, stepContext } = await import(library);

const ran = [];
globalThis.note = () => ran.push(stepContext().key);

const require = createRequire(import.meta.url);
const load = async (url) => {
  const module = required ? require(fileURLToPath(url)) : await import(url);
  return module.flow === undefined ? module.default : module;
};

const fixtures = {};
for (const [name, url] of Object.entries(entries)) {
  try {
    fixtures[name] = await run(await load(url));
  } catch (error) {
    fixtures[name] = { error: String(error?.stack ?? error) };
  }
}
const { modules } = globalThis[Symbol.for("stepmark@1")];
const tables = [...modules].map(([path, { text, places }]) => ({
  path,
  text,
  places: places.map(({ kind, container, anchor, line, text: call, shared, loops }) =>
    [kind, container, anchor, line, call, shared, ...loops].join(" "),
  ),
}));
// A dev server may still be open.
process.stdout.write(JSON.stringify({ fixtures, tables }), () => process.exit(0));

async function run({ flow, input }) {
  const store = memoryStore();
  const first = await pass(flow, store, (app) => app.start(flow, input, { id: "run" }));
  const journal = await store.entries("run");
  const faults = [];
  for (let kept = 0; kept <= journal.length; kept++) {
    const again = await pass(flow, store.fork("run", kept), (app) => app.resume("run"));
    const done = new Set(journal.slice(0, kept).map(({ key }) => key));
    if (JSON.stringify(again.output) !== JSON.stringify(first.output)) faults.push(`after ${kept}: ${again.output}`);
    const twice = again.bodies.filter((key) => done.has(key));
    if (twice.length > 0) faults.push(`after ${kept}: ran again: ${twice}`);
    const missed = first.bodies.filter((key) => !done.has(key) && !again.bodies.includes(key));
    if (missed.length > 0) faults.push(`after ${kept}: did not run: ${missed}`);
  }
  return { ...first, bodies: first.bodies.sort(), keys: journal.map(({ key }) => key).sort(), faults };
}

async function pass(flow, store, begin) {
  ran.length = 0;
  const app = new Stepmark({ store, workflows: [flow] });
  const handle = await begin(app);
  const output = await handle.result();
  await app.shutdown();
  return { output: shortened(output), bodies: [...ran] };
}

/** A stack as the place in the fixtures that it names first. */
function shortened(value) {
  return JSON.parse(
    JSON.stringify(value ?? null, (_key, part) => {
      if (typeof part !== "string" || !/\n\s+at /.test(part)) return part;
      const [, folder, line] = /([^/\\]+)[/\\]main\.[cm]?[jt]sx?:(\d+)/.exec(part) ?? [];
      return folder === undefined ? part : `${folder}:${line}`;
    }),
  );
}
