/** A store as a process on a machine of its own has it, although all are on this one: only its lease tells whether it lives. */
import { clearInterval, setInterval } from "node:timers";
import { StaleOwnerError, type Store } from "stepmark";
import { note } from "./ledger.js";

/** Milliseconds. Short, so that the storm is: the library's own are of half a minute. */
const leaseTime = 2_000;

/** @param machine its name */
export function onMachine(store: Store, machine: string): Store & { stop(): void } {
  const owned = new Map<string, number>();
  const lease = () => ({ now: Date.now(), until: Date.now() + leaseTime });
  const renewal = setInterval(() => {
    const fences = new Map(owned);
    const drop = (lost: readonly string[]): void => {
      for (const id of lost) if (owned.get(id) === fences.get(id)) owned.delete(id);
    };
    // One that cannot renew runs on, and is refused when it writes.
    store.renew(fences, lease()).then(drop, () => {});
  }, leaseTime / 4);
  const own: Partial<Store> & { stop(): void } = {
    claim: async (id, owner, isDead) => {
      const claim = await store.claim(id, { ...owner, host: machine }, isDead, lease());
      if (claim.claimed) {
        owned.set(id, claim.run.fence);
        note({ type: "claim", run: id, fence: claim.run.fence, machine });
      }
      return claim;
    },
    renew: (fences) => store.renew(fences, lease()),
    append: async (id, fence, entries, change) => {
      try {
        await store.append(id, fence, entries, change);
        if (change?.release) owned.delete(id);
      } catch (error) {
        if (error instanceof StaleOwnerError) note({ type: "refused", run: id, fence, machine });
        throw error;
      }
    },
    stop: () => clearInterval(renewal),
  };
  return new Proxy(store, {
    get(target, name) {
      const method = Reflect.get(own, name) ?? Reflect.get(target, name);
      return typeof method === "function" ? method.bind(target) : method;
    },
  }) as Store & { stop(): void };
}
