import { Activity } from "@effect/workflow";
import { Effect, Runtime, Schema } from "effect";
import * as work from "../../correctness/work.js";
import type { Engine, Place } from "../contender.js";
import { activity, type Durable, type Flow, openEngine } from "./engine.js";

const atOnce = { concurrency: "unbounded" } as const;

const print = (page: work.Page): Durable<string> =>
  Activity.make({
    name: `print/${page.text}`,
    success: Schema.String,
    execute: Effect.gen(function* () {
      const runtime = yield* Effect.runtime<Effect.Effect.Context<Durable<string>>>();
      const typeset = activity(`typeset/${page.text}`, () => work.typeset(page));
      return yield* Effect.promise(() => work.print(page, () => Runtime.runPromise(runtime, typeset)));
    }),
  });

const branch = Effect.fnUntraced(function* (which: string) {
  yield* activity(`predecessor/${which}`, () => work.predecessor(which));
  return yield* activity(`shared/${which}`, () => work.shared(which));
});

const branches = Effect.fnUntraced(function* () {
  const results = yield* Effect.all([branch("A"), branch("B")], atOnce);
  return yield* activity("combine", () => work.combine(results));
});

const flows: Record<string, Flow> = {
  A1: Effect.fnUntraced(function* () {
    return [yield* print(new work.Page("a")), yield* print(new work.Page("b"))];
  }),
  B1: () => branches(),
  B2: () => branches(),
  B4: (pages: string[]) =>
    Effect.all(
      pages.map((page) =>
        Effect.flatMap(
          activity(`load/${page}`, () => work.load(page)),
          (text) => activity(`render/${page}`, () => work.render(text)),
        ),
      ),
      atOnce,
    ),
  B6: Effect.fnUntraced(function* (images: string[]) {
    const queue = [...images];
    const results = new Map<string, string>();
    const worker = Effect.fnUntraced(function* () {
      for (let image = queue.shift(); image !== undefined; image = queue.shift()) {
        const next = image;
        results.set(next, yield* activity(`shrink/${next}`, () => work.shrink(next)));
      }
    });
    yield* Effect.all([worker(), worker()], atOnce);
    return images.map((image) => results.get(image)!);
  }),
  // Its own race, which is recorded.
  B7: Effect.fnUntraced(function* () {
    const ask = (which: string) => activity(`ask/${which}`, () => work.ask(which));
    const fastest: string = yield* Activity.raceAll("ask", [ask("slow"), ask("fast")]);
    return yield* activity(`order/${fastest}`, () => work.orderFrom(fastest));
  }),
  C1: Effect.fnUntraced(function* () {
    yield* activity("prepare", work.prepare);
    const flaky = Activity.make({
      name: "flaky",
      success: Schema.Number,
      error: Schema.String,
      execute: Effect.tryPromise({ try: work.flaky, catch: (error) => String(error) }),
    }).pipe(Activity.retry({ times: 3 }), Effect.orDie);
    return yield* Effect.all([activity("done", work.done), flaky], atOnce);
  }),
};

const before: Record<string, Flow> = {
  E2: Effect.fnUntraced(function* () {
    return [
      yield* activity("reserve", work.reserve),
      yield* activity("charge", work.charge),
      yield* activity("ship", work.ship),
    ];
  }),
  E3: Effect.fnUntraced(function* () {
    const first = yield* activity("notify/a", () => work.notify("a"));
    return yield* activity("finish", () => work.finish([first]));
  }),
};

const after: Record<string, Flow> = {
  E2: Effect.fnUntraced(function* () {
    return [
      yield* activity("reserve", work.reserve),
      yield* activity("audit", work.audit),
      yield* activity("charge", work.charge),
      yield* activity("ship", work.ship),
    ];
  }),
  E3: Effect.fnUntraced(function* () {
    const second = yield* activity("notify/b", () => work.notify("b"));
    const first = yield* activity("notify/a", () => work.notify("a"));
    return yield* activity("finish", () => work.finish([second, first]));
  }),
};

export const open = (place: Place, edited: boolean): Promise<Engine> =>
  openEngine(place, { ...flows, ...(edited ? after : before) });
