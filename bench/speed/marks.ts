/** What flows tell of themselves while they are measured: when they were entered, left, and when a body ran. */
import process from "node:process";

/** Milliseconds since the epoch, comparable between processes of one machine. */
export const now = (): number => performance.timeOrigin + performance.now();

/** In this process. */
export const marks = {
  /** A flow was first entered. */
  entered: undefined as number | undefined,
  /** A flow was last left. */
  left: undefined as number | undefined,
  /** A body first began. */
  body: undefined as number | undefined,
  /** The body that is given this number kills its process. */
  killAt: undefined as number | undefined,
};

/** Forgets what has been marked so far. */
export function clearMarks(): void {
  marks.entered = marks.left = marks.body = undefined;
}

/** The first thing that a flow does. */
export function entered(): void {
  marks.entered ??= now();
}

/** The last thing that a flow does. */
export function left<T>(output: T): T {
  marks.left = now();
  return output;
}

/** The body of the steps that are measured. */
export async function work(x: number): Promise<number> {
  marks.body ??= now();
  if (x === marks.killAt) process.kill(process.pid, "SIGKILL");
  return x + 1;
}

/** The body of the step with a large result. */
export async function produce(bytes: number): Promise<string> {
  return "x".repeat(bytes);
}
