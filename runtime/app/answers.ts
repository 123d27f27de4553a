/** Answers to open waits and messages to streams, from outside a run. */
import { checkName } from "../calls/name.js";
import type { Codec } from "../journal/codec.js";
import { encoded } from "../journal/encoded.js";
import { check } from "../run/live/inbox.js";
import type { Store } from "../stores/store.js";
import { answeredAlready, checkAnswer, refusedAnswer, takesNothing } from "./check-answer.js";
import type { Driver } from "./driver.js";
import { hasEnded } from "./ended.js";
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
  async answer(id: string, nameOrKey: string, value: unknown): Promise<void> {
    checkName("The name or key of a wait", nameOrKey);
    const answer = encoded(this.options.codec, value, { runId: id });
    await this.inTurn(id, () => this.giveAnswer(id, nameOrKey, answer));
  }

  /** See `Stepmark.send`. */
  async send(id: string, name: string, value: unknown): Promise<void> {
    checkName("The name of a stream", name);
    const message = encoded(this.options.codec, value, { runId: id });
    await this.inTurn(id, () => this.giveMessage(id, name, message));
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
  private async giveMessage(id: string, name: string, message: string): Promise<void> {
    const { store, codec, driver, now } = this.options;
    const run = await driver.read(id);
    const info = runInfo(run, [], codec);
    if (hasEnded(run.status)) throw takesNothing(info);
    const waits = [...(driver.activeRun(id)?.execution.waits.open.values() ?? [])];
    const wait = waits.find((each) => each.name === name);
    const checked = wait?.accept && (await check(message, wait));
    if (checked?.ok === false) throw refusedAnswer(id, name, info, checked.issues);
    await store.post(id, { target: name, value: message, at: now() });
  }

  /** @param answer encoded */
  private async giveAnswer(id: string, nameOrKey: string, answer: string): Promise<void> {
    const { store, codec, driver, now } = this.options;
    const run = await driver.read(id);
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
    const posted = await store.post(id, { target, value: answer, at: now() }, { once });
    if (posted === undefined) throw answeredAlready(id, nameOrKey, info);
  }
}
