/**
 * A saga: a trip is booked part by part, and when the card is declined in the end, what was booked is cancelled again, the
 * last part first. The list of what is to be undone is an ordinary array of closures; a resumed run builds it anew.
 */
import { step, workflow } from "stepmark";
import { killedAfterEveryEntry } from "./runner/plays.js";
import type { Scenario } from "./runner/scenario.js";
import { work } from "./runner/work.js";

const bookTrip = workflow("book-trip", async (city: string) => {
  const undo: Array<() => Promise<void>> = [];
  try {
    for (const part of ["flight", "hotel", "car"]) {
      const booking = await step(book, part, city);
      undo.push(() => step(cancel, booking));
    }
    await step(charge, city);
    return `off to ${city}`;
  } catch (error) {
    for (const undoOne of undo.reverse()) await undoOne();
    return `no trip to ${city}: ${(error as Error).message}`;
  }
});

async function book(part: string, city: string): Promise<string> {
  await work(`book ${part}`);
  return `${part} to ${city}`;
}

async function cancel(booking: string): Promise<void> {
  await work(`cancel ${booking.split(" ")[0]}`);
}

async function charge(city: string): Promise<void> {
  await work("charge card");
  throw new Error(`the card was declined (${city})`);
}

const inOrder = [
  ...["book flight", "book hotel", "book car", "charge card"],
  ...["cancel car", "cancel hotel", "cancel flight"],
];

export const scenarios: readonly Scenario[] = [
  {
    id: "saga",
    what: "a late failure undoes three bookings, last first, killed after every entry; bodies: recorded → run again",
    workflow: bookTrip,
    input: "Lisbon",
    play: killedAfterEveryEntry(inOrder),
    expected: {
      result: "no trip to Lisbon: the card was declined (Lisbon)",
      bodies: [
        ["0", "1", "2", "3", "4", "5", "6", "7"],
        ["7", "6", "5", "4", "3", "2", "1", "0"],
      ],
    },
  },
];
