/** The workflow of the pictures. What follows the imports is shown. */
import { step, workflow } from "stepmark";
import { book, getQuote, reserve } from "./bodies.js";

export const fulfil = workflow("fulfil", async (items: string[]) => {
  const quotes = await Promise.all(
    items.map(async (item) => {
      const stock = await step(reserve, item);
      return step(getQuote, item, stock);
    }),
  );
  for (const quote of quotes) await step(book, quote);
});
