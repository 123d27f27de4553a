/** A network between a store and its server that can be cut. */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

export interface Network {
  /** The server's address, by way of this network. */
  url: string;
  /** From now on nothing passes, and nobody is told: what is sent stays on the way. */
  hold(): void;
  /** From now on what the server answers is lost, and what is sent to it arrives. */
  loseAnswers(): void;
  /** Ends all connections, and lets nobody in. */
  cut(): void;
  /** What is on the way arrives, and all is well. */
  heal(): void;
  close(): Promise<void>;
}

/** @param to the server's address */
export async function startNetwork(to: string): Promise<Network> {
  const target = new URL(to);
  const pairs = new Set<[near: Socket, far: Socket]>();
  let state: "open" | "held" | "deaf" | "cut" = "open";
  const server = createServer((near) => {
    if (state === "cut") return void near.destroy();
    const far = connect(Number(target.port), target.hostname);
    const pair: [Socket, Socket] = [near, far];
    pairs.add(pair);
    near.on("data", (bytes) => far.write(bytes));
    far.on("data", (bytes) => {
      if (state !== "deaf") near.write(bytes);
    });
    for (const [one, other] of [pair, [far, near]] as const) {
      one.on("error", () => {});
      one.on("close", () => {
        // What was held back is still delivered.
        if (state !== "held") other.end();
        if (other.closed) pairs.delete(pair);
      });
    }
    if (state === "held") for (const each of pair) each.pause();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(to);
  url.port = String((server.address() as { port: number }).port);
  const cut = (): void => {
    state = "cut";
    for (const pair of pairs) for (const each of pair) each.destroy();
  };
  return {
    url: url.href,
    hold() {
      state = "held";
      for (const pair of pairs) for (const each of pair) each.pause();
    },
    loseAnswers() {
      state = "deaf";
    },
    cut,
    heal() {
      state = "open";
      for (const [near, far] of pairs) {
        for (const [each, other] of [
          [near, far],
          [far, near],
        ] as const) {
          if (other.closed) each.end();
          each.resume();
        }
      }
    },
    async close() {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}
