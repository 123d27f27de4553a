/** Parcels that are packed at once: a concurrent callback with a helper. */
import { step, workflow } from "stepmark";
import { done, log } from "../bodies.js";

const getQuote = async (item: string) => done("getQuote", item);
const pick = async (item: string) => done("pick", item);
const seal = async (box: string) => done("seal", box);
const weigh = async () => done("weigh");
const collect = async (parcels: number) => done("collect", parcels);

async function pack(item: string) {
  const box = await step(pick, item);
  const weight = await step(weigh);
  const parcel = await step(() => seal(box));
  return { parcel, weight };
}

export const w = workflow("parcels", async (items: string[]) => {
  const parcels = await Promise.all(
    items.map(async (item) => {
      log(item);
      const price = await step(getQuote, item);
      const packed = await pack(item);
      return { price, ...packed };
    }),
  );
  const pickup = await step(collect, parcels.length);
  return { parcels, pickup };
});

export const input = ["chair", "lamp", "desk"];
