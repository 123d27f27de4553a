import type { Contender } from "../contender.js";

export const langgraph: Contender = {
  name: "langgraph",
  title: "LangGraph, functional API",
  packages: ["@langchain/langgraph", "@langchain/langgraph-checkpoint-sqlite"],
  store: "SQLite",
  durability: {
    power: "PRAGMA synchronous=FULL on the database that SqliteSaver is given",
    process: "PRAGMA synchronous=NORMAL on the database that SqliteSaver is given",
  },
  cannot: {},
  notes: ['Runs are invoked with `durability: "sync"`, so that checkpoints are written before the graph goes on.'],
  identity: "task name, and how many calls came before it in the same task",
  speed: async () => (await import("./speed.js")).open,
  correctness: async () => (await import("./correctness.js")).open,
};
