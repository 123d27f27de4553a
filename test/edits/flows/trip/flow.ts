/** A trip whose last booking fails: what was booked is cancelled again. */
import { step, workflow } from "stepmark";
import { done, fail, log } from "../bodies.js";

const bookHotel = async (city: string) => done("bookHotel", city);
const bookFlight = async (city: string) => done("bookFlight", city);
const bookCar = async (city: string) => fail("bookCar", city);
const cancel = async (booking: string) => done("cancel", booking);
const apologise = async (traveller: string) => done("apologise", traveller);

interface Trip {
  traveller: string;
  city: string;
}

export const w = workflow("trip", async (trip: Trip) => {
  const booked: string[] = [];
  let outcome: string;
  try {
    booked.push(await step(bookHotel, trip.city));
    booked.push(await step(bookFlight, trip.city));
    booked.push(await step(bookCar, trip.city));
    outcome = "booked";
  } catch {
    for (const booking of booked.reverse()) {
      log(booking.replace(/#.*/, ""));
      await step(cancel, booking);
    }
    log("end");
    outcome = await step(apologise, trip.traveller);
  }
  return { booked, outcome };
});

export const input = { traveller: "Grace", city: "Porto" };
