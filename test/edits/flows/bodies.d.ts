/** What the harness provides to the flows: bodies whose results say which execution of them it was, and labels. */

/** The end of a step's body: resolves after a while with `name(args)#id`, where no two executions have one id. */
export declare function done(name: string, ...args: unknown[]): Promise<string>;

/** As `done`, and rejects with an error that has that message. */
export declare function fail(name: string, ...args: unknown[]): Promise<never>;

/** Says which of several the code works on from here, so that it is known which call is which. Does nothing else. */
export declare function log(...what: unknown[]): void;

/** Runs functions later, a few at a time, out of sight of the transformer. */
export declare function limiter(most: number): <T>(task: () => Promise<T>) => Promise<T>;
