/** What is tried, and the one right outcome of each. How the flows are written is the contenders' own. */
import type { Direct } from "./stage.js";

export type ScenarioName = "A1" | "B1" | "B2" | "B4" | "B6" | "B7" | "C1" | "E2" | "E3";

export interface Scenario {
  what: string;
  input: unknown;
  /** The flow is another one in the second life. */
  edited?: true;
  /** One run each. */
  cases: readonly Case[];
}

export interface Case {
  /** The run's output. */
  value: unknown;
  /** Bodies that end, each once over all lives: what is recorded never runs again. */
  bodies: readonly string[];
  /** Bodies of which nothing is asked: a race may call off the one that loses, and it is not recorded then. */
  free?: readonly string[];
  direct: Direct;
}

const pages = ["a", "b", "c", "d", "e"];
const images = ["1", "2", "3", "4", "5"];

export const scenarios: Record<ScenarioName, Scenario> = {
  A1: {
    what: "a step calls a step, with class instances; killed inside the second inner one",
    input: null,
    cases: [
      {
        value: ["A", "B"],
        bodies: ["print a", "typeset a", "print b", "typeset b"],
        direct: dyingIn("typeset b"),
      },
    ],
  },
  B1: {
    what: "two branches call one step, B first; killed after both: on replay A comes first",
    input: null,
    cases: [twoBranches("combine")],
  },
  B2: {
    what: "the same, killed when only B's is recorded",
    input: null,
    cases: [twoBranches("shared A")],
  },
  B4: {
    what: "five items at once, two steps each; killed after 1, 4 and 7 of ten",
    input: pages,
    cases: [1, 4, 7].map((recorded) => ({
      value: pages.map((page) => `<p>text of ${page}</p>`),
      bodies: pages.flatMap((page) => [`load ${page}`, `render ${page}`]),
      direct: inOrder(
        ["load c", "load a", "render c", "load e", "render a", "load b", "render e", "load d", "render b", "render d"],
        recorded,
      ),
    })),
  },
  B6: {
    what: "two workers, one queue; killed when 3 of 5 jobs are recorded",
    input: images,
    cases: [
      {
        value: images.map((image) => `small ${image}`),
        bodies: images.map((image) => `shrink ${image}`),
        direct: inOrder(["shrink 2", "shrink 3", "shrink 1", "shrink 4", "shrink 5"], 3),
      },
    ],
  },
  B7: {
    what: "a race, the slower one first; killed when both are recorded: the winner wins again",
    input: null,
    cases: [
      {
        value: "ordered from fast",
        bodies: ["ask fast", "order from fast"],
        free: ["ask slow"],
        direct: async (body, { life, pause, ended, die }) => {
          if (body === "ask slow") {
            if (life === 1) await ended("ask fast");
            await pause(300);
          }
          if (life === 1 && body === "order from fast") {
            await ended("ask slow");
            await die();
          }
        },
      },
    ],
  },
  C1: {
    what: "a step fails while the result of another is being saved; the run goes on later",
    input: null,
    cases: [
      {
        value: [1, 2],
        bodies: ["prepare", "done", "flaky"],
        direct: async (body, { time, ended }) => {
          if (body !== "flaky" || time > 1) return;
          await ended("done");
          throw new Error("the card is refused");
        },
      },
    ],
  },
  E2: {
    what: "a step is inserted before a recorded one",
    input: null,
    edited: true,
    cases: [
      {
        value: ["reserved", "audited", "charged", "shipped"],
        bodies: ["reserve", "audit", "charge", "ship"],
        direct: dyingIn("ship"),
      },
    ],
  },
  E3: {
    what: "a second call of the same step is inserted before a recorded one",
    input: null,
    edited: true,
    cases: [
      {
        value: ["sent b", "sent a"],
        bodies: ["notify b", "notify a", "finish"],
        direct: dyingIn("finish"),
      },
    ],
  },
};

/** The process dies in a body of the first life. */
function dyingIn(victim: string): Direct {
  return async (body, { life, die }) => {
    if (life === 1 && body === victim) await die();
  };
}

/** A's predecessor takes until B's call of the shared step has ended and had time to be recorded; then the process dies in a body. */
function twoBranches(victim: string): Case {
  const die = dyingIn(victim);
  return {
    value: ["result:A", "result:B"],
    bodies: ["predecessor A", "predecessor B", "shared A", "shared B", "combine"],
    direct: async (body, scene) => {
      if (scene.life === 1 && body === "predecessor A") {
        await scene.ended("shared B");
        await scene.pause(500);
      }
      await die(body, scene);
    },
  };
}

/** In the first life bodies end in this order, and when so many have ended, the process dies; later they end in the opposite order. */
function inOrder(order: readonly string[], recorded: number): Direct {
  return async (body, { life, pause, ended, die }) => {
    const turn = order.indexOf(body);
    if (life > 1) return pause(50 * (order.length - turn));
    for (const before of order.slice(0, turn)) await ended(before);
    if (turn === recorded) await die();
    await pause(50);
  };
}
