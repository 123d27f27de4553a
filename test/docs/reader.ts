/** What the pages' code leaves to its reader: the project around it. Declared, since the code is compiled and not run. */
import type { IncomingMessage } from "node:http";
import type { Executor, HttpAsked, Run, Stepmark, Workflow } from "stepmark";

export interface Order {
  id: string;
  customer: string;
  items: Item[];
}
export interface Item {
  id: string;
  name: string;
}
export declare const order: Order;
export declare const items: Item[];
export declare const fulfil: Workflow<Order, unknown>;
export declare const report: Workflow<string, void>;
export declare const app: Stepmark;
export declare const run: Run;
export declare const id: string;
export declare const executor: Executor;

export declare function reserve(what: unknown): Promise<{ reserved: number }>;
export declare function insure(item: Item): Promise<void>;
export declare function getQuote(item: Item): Promise<number>;
export declare function book(quote: number): Promise<{ parcel: string }>;
export declare function cancelParcels(parcels: readonly unknown[]): Promise<void>;
export declare function pay(amount: number): Promise<string>;
export declare function charge(...what: unknown[]): Promise<string>;
export declare function ship(items: readonly unknown[]): Promise<string>;
export declare function price(item: Item): number;
export declare function audit(item?: Item): Promise<void>;
export declare function writeAudit(): Promise<void>;
export declare function main(): Promise<void>;
export declare function isDue(item: Item): Promise<boolean>;
export declare function load(url: string): Promise<string>;
export declare function postHook(url: string): Promise<void>;
export declare function render(text: string): Promise<string>;
export declare const out: number[];
export declare const skip: boolean;
export declare const stock: { reserved: number };
export declare const error: Error;

export declare class Point {
  x: number;
  y: number;
}
export declare class Busy extends Error {
  readonly retryAfter: number;
}
export declare class Money {
  constructor(cents: number);
  readonly cents: number;
}

// A model and its tools
export interface Message {
  role: string;
  content: string;
  toolCalls?: ToolCall[];
}
export interface ToolCall {
  name: string;
  args: { question: string };
}
export declare const dangerous: ReadonlySet<string>;
export declare function callModel(messages: readonly Message[]): Promise<Message>;
export declare function runTool(name: string, args: object): Promise<string>;
export declare function result(call: ToolCall, content: string): Message;

// Servers and pages
export declare function isAllowed(request: Request, asked: HttpAsked): Promise<boolean>;
export declare function userOf(authorization: string | null): Promise<{ id: string; isAdmin: boolean } | undefined>;
export declare function runIdOf(request: IncomingMessage): string;
export declare function show(value: unknown): void;
export declare function done(value: unknown): void;

// Where things are kept
export declare function upload(lines: AsyncIterable<string>): Promise<void>;
export declare const bucket: {
  put(name: string, content: Uint8Array): Promise<void>;
  get(name: string): Promise<Uint8Array | undefined>;
  deletePrefix(prefix: string): Promise<void>;
};

// Trips, pictures, mails
export declare function bookPart(part: string, city: string): Promise<string>;
export declare function cancelPart(booking: string): Promise<void>;
export declare function sendReminder(): Promise<void>;
export declare function uploadAll(items: string[]): Promise<void>;
export declare function stateOf(url: string): Promise<"ready" | "at work">;
export declare function lookAtPrices(): Promise<void>;
export declare function pLimit(atOnce: number): <T>(fn: () => Promise<T>) => Promise<T>;
export declare function pack(order: Order): Promise<string[]>;
export declare const remind: Workflow<string, void>;
