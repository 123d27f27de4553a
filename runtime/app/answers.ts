/** Answers to open waits and messages to streams, from outside a run. */
import { createHash } from "node:crypto";
import { checkName } from "../calls/name.js";
import { InvalidArgumentError } from "../errors.js";
import type { Codec } from "../journal/codec.js";
import { encoded } from "../journal/encoded.js";
import { check } from "../run/live/inbox.js";
import type { SenderKey, Store } from "../stores/store.js";
import { answeredAlready, checkAnswer, refusedAnswer, sentAsAnother, takesNothing } from "./check-answer.js";
import type { Driver } from "./driver.js";
import { hasEnded } from "./ended.js";
import type { SendOptions } from "./options.js";
import { runInfo } from "./run-info.js";

export interface AnswersOptions {
  store: Store;
  codec: Codec;
  driver: Driver;
  now(): number;
}

export class Answers {
  /** The last message to each run that is on its way into the inbox. */
  private readonly giving = new Map<string, Promise<void>>();

  constructor(private readonly options: AnswersOptions) {}

  /** See `Stepmark.answer`. */
  async answer(id: string, nameOrKey: string, value: unknown, options?: SendOptions): Promise<void> {
    checkName("The name or key of a wait", nameOrKey);
    const answer = encoded(this.options.codec, value, { runId: id });
    const sender = senderKey(options, ["answer", nameOrKey, answer]);
    await this.inTurn(id, () => this.giveAnswer(id, nameOrKey, answer, sender));
  }

  /** See `Stepmark.send`. */
  async send(id: string, name: string, value: unknown, options?: SendOptions): Promise<void> {
    checkName("The name of a stream", name);
    const message = encoded(this.options.codec, value, { runId: id });
    const sender = senderKey(options, ["send", name, message]);
    await this.inTurn(id, () => this.giveMessage(id, name, message, sender));
  }

  /**
   * One after the other, in the order of the calls: two answers to one wait could both find it open, and a message whose check
   * takes long be overtaken by the next one.
   */
  private async inTurn(id: string, give: () => Promise<void>): Promise<void> {
    const before = this.giving.get(id) ?? Promise.resolve();
    const given = before.catch(() => {}).then(give);
    this.giving.set(id, given);
    try {
      await given;
    } finally {
      if (this.giving.get(id) === given) this.giving.delete(id);
    }
    await this.options.driver.news(id);
  }

  /** @param message encoded */
  private async giveMessage(id: string, name: string, message: string, sender: SenderKey | undefined): Promise<void> {
    const { store, codec, driver, now } = this.options;
    const run = await driver.read(id);
    const info = runInfo(run, [], codec);
    if (await this.wasSent(id, sender)) return;
    if (hasEnded(run.status)) throw takesNothing(info);
    const waits = [...(driver.activeRun(id)?.execution.waits.open.values() ?? [])];
    const wait = waits.find((each) => each.name === name);
    const checked = wait?.accept && (await check(message, wait));
    if (checked?.ok === false) throw refusedAnswer(id, name, info, checked.issues);
    const posted = await store.post(id, { target: name, value: message, at: now() }, { ...(sender && { sender }) });
    // Somebody else may have sent it since.
    if (posted === undefined) await this.wasSent(id, sender);
  }

  /**
   * Whether the run was given this very message before.
   *
   * @throws AnswerError if it was given another one under the same key
   */
  private async wasSent(id: string, sender: SenderKey | undefined): Promise<boolean> {
    if (sender === undefined) return false;
    const print = await this.options.store.sent(id, sender.key);
    if (print !== undefined && print !== sender.print) throw sentAsAnother(id, sender.key);
    return print !== undefined;
  }

  /** @param answer encoded */
  private async giveAnswer(
    id: string,
    nameOrKey: string,
    answer: string,
    sender: SenderKey | undefined,
  ): Promise<void> {
    const { store, codec, driver, now } = this.options;
    const run = await driver.read(id);
    if (await this.wasSent(id, sender)) return;
    // The inbox first: an answer that is taken out of it meanwhile is then among the entries.
    const queued = new Set((await store.inbox(id)).map(({ target }) => target));
    const entries = await store.entries(id);
    const info = runInfo(run, entries, codec);
    const { target, once } = checkAnswer(run, nameOrKey, info, entries, queued, now());
    // Checked at the door where the wait is at hand, and in any case when the run takes the answer.
    const wait = driver.activeRun(id)?.execution.waits.open.get(target);
    const checked = wait?.accept && (await check(answer, wait));
    if (checked?.ok === false) throw refusedAnswer(id, nameOrKey, info, checked.issues);
    // Another process may have answered since.
    const posted = await store.post(id, { target, value: answer, at: now() }, { once, ...(sender && { sender }) });
    if (posted === undefined && (await this.wasSent(id, sender))) return;
    if (posted === undefined) throw answeredAlready(id, nameOrKey, info);
  }
}

/** The longest key of a sender's, in characters: every database can look it up. */
const longestKey = 255;

/** @param sent all that makes it the message that it is, as text */
function senderKey({ idempotencyKey: key }: SendOptions = {}, sent: readonly string[]): SenderKey | undefined {
  if (key === undefined) return undefined;
  checkName("An `idempotencyKey`", key);
  if (key.length > longestKey) {
    throw new InvalidArgumentError(
      `An \`idempotencyKey\` has ${longestKey} characters at most, not ${key.length}`,
      "Give the id of what is sent, or a digest of it.",
    );
  }
  const print = createHash("sha256").update(JSON.stringify(sent)).digest("hex").slice(0, 32);
  return { key, print };
}
