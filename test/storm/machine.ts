/** A process as if on a machine of its own, although all are on this one: only its lease tells whether it lives. */
import { type Queue, StaleOwnerError, type Store } from "stepmark";
import { note } from "./ledger.js";

/** Notes what it takes, and what it is refused. */
export function storeOnMachine(store: Store, machine: string): Store {
  const own: Partial<Store> = {
    claim: async (id, owner, isDead, lease) => {
      const claim = await store.claim(id, { ...owner, host: machine }, isDead, lease);
      if (claim.claimed) note({ type: "claim", run: id, fence: claim.run.fence, machine });
      return claim;
    },
    append: async (id, fence, entries, change) => {
      try {
        await store.append(id, fence, entries, change);
      } catch (error) {
        if (error instanceof StaleOwnerError) note({ type: "refused", run: id, fence, machine });
        throw error;
      }
    },
  };
  return new Proxy(store, {
    get(target, name) {
      const method = Reflect.get(own, name) ?? Reflect.get(target, name);
      return typeof method === "function" ? method.bind(target) : method;
    },
  });
}

export function queueOnMachine(queue: Queue, machine: string): Queue {
  return {
    put: (id, order, create) => queue.put(id, order, create),
    join: (member) => queue.join({ ...member, owner: { ...member.owner, host: machine } }),
    close: () => queue.close(),
  };
}
