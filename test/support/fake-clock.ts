/** The clock of `stepmark/testing`, which also waits for what the tests themselves have under way. */
import { FakeClock as PublicClock } from "stepmark/testing";
import { rest } from "./kill.js";

export class FakeClock extends PublicClock {
  protected override rest(): Promise<void> {
    return rest();
  }
}
