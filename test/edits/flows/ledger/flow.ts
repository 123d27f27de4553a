/** A ledger that is closed: steps with keys of their own, branches, and functions that a table or a condition chooses. */
import { step, workflow } from "stepmark";
import { done, log } from "../bodies.js";

interface Account {
  id: string;
  kind: "cash" | "bank";
}

const balance = async () => done("balance");
const post = async (text: string) => done("post", text);
const archive = async (text: string) => done("archive", text);
const discard = async (text: string) => done("discard", text);

async function byMail(text: string) {
  return done("byMail", text);
}

async function byPost(text: string) {
  return done("byPost", text);
}

const readers = {
  cash: async (id: string) => done("readCash", id),
  bank: async (id: string) => done("readBank", id),
};
const notify = readers.cash.length === 1 ? byMail : byPost;

export const w = workflow("ledger", async (accounts: Account[]) => {
  const opened = await step({ key: "opening" }, balance);
  const lines: string[] = [];
  for (const account of accounts) {
    log(account.id);
    lines.push(await step({ key: `read ${account.id}` }, readers[account.kind], account.id));
  }
  log("end");
  let settled = "";
  if (accounts.length > 2) {
    settled = await step(post, "many");
    await step(archive, "many");
  } else {
    settled = await step(post, "few");
    await step(discard, "few");
  }
  const sent = await step(notify, settled);
  const kept = await step(accounts.length > 2 ? discard : archive, sent);
  const closed = await step({ key: "closing" }, balance);
  return { opened, lines, settled, kept, closed };
});

export const input = [
  { id: "till", kind: "cash" },
  { id: "savings", kind: "bank" },
];
