/**
 * The connection on which a store hears of messages that other processes have posted. It is made anew whenever it is lost,
 * and after that it is looked what was missed meanwhile.
 */
import process from "node:process";
import timers from "node:timers";
import { wordsOf } from "../journal/careful.js";
import { ask, type PostgresListeningClient, quotedName } from "./postgres-driver.js";

export interface ListenerOptions {
  channel: string;
  /** Milliseconds from one look whether the connection is alive to the next: one that dies in silence tells nobody. */
  heartbeat: number;
  connect(): PostgresListeningClient;
  /** Told of each message on the channel. */
  hear(payload: string): void;
  /** Called each time that the connection has been made. */
  catchUp(client: PostgresListeningClient): Promise<void>;
}

/** Milliseconds until the next attempt: twice as long each time. */
const shortest = 100;
const longest = 5_000;

/** After so many attempts in a row the process is warned, once. */
const patience = 6;

// Taken when the module loads, so that test tools that replace timers later cannot stop the store.
const { setTimeout, setInterval, clearTimeout } = timers;

export class PostgresListener {
  private client: PostgresListeningClient | undefined;
  private timer: NodeJS.Timeout | undefined;
  private attempts = 0;
  private stopped = false;

  constructor(private readonly options: ListenerOptions) {
    void this.open();
  }

  /** @returns when the connection is closed */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    const { client } = this;
    this.client = undefined;
    await client?.end().catch(() => {});
  }

  private async open(): Promise<void> {
    const { channel, heartbeat, connect, hear, catchUp } = this.options;
    const client = connect();
    this.client = client;
    client.on("error", (error) => this.lost(client, error));
    client.on("end", () => this.lost(client));
    client.on("notification", ({ channel: on, payload = "" }) => {
      if (on === channel && client === this.client) hear(payload);
    });
    try {
      await client.connect();
      // Who only listens does not keep the process.
      client.unref?.();
      await ask(client, `LISTEN ${quotedName(channel)}`);
      // What is posted from now on is heard: what was posted before is there to be seen.
      await catchUp(client);
      this.attempts = 0;
      if (client !== this.client) return;
      const look = (): unknown => ask(client, "SELECT").catch((error) => this.lost(client, error));
      this.timer = setInterval(look, heartbeat).unref();
    } catch (error) {
      this.lost(client, error);
    }
  }

  private lost(client: PostgresListeningClient, error?: unknown): void {
    if (client !== this.client) return;
    this.client = undefined;
    clearTimeout(this.timer);
    void client.end().catch(() => {});
    if (this.stopped) return;
    this.attempts++;
    if (this.attempts === patience) {
      process.emitWarning(
        `stepmark cannot listen for messages of other processes (${wordsOf(error)}); it goes on trying, and \`app.run()\` finds them meanwhile`,
      );
    }
    this.timer = setTimeout(() => void this.open(), Math.min(longest, shortest * 2 ** (this.attempts - 1)));
    this.timer.unref();
  }
}
