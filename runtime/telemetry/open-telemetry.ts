/** Spans of OpenTelemetry for runs, steps and attempts: `stepmark/telemetry`. Needs the package `@opentelemetry/api`. */
import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { fieldOf, isA, wordsOf } from "../journal/careful.js";
import type { AttemptTrace, RunToTrace, RunTrace, StepToTrace, StepTrace, Telemetry } from "./telemetry.js";

export type { AttemptTrace, RunToTrace, RunTrace, StepToTrace, StepTrace, Telemetry } from "./telemetry.js";

export interface OpenTelemetryOptions {
  /** Makes the spans; by default that of the registered SDK, under the name `stepmark`. */
  tracer?: Tracer;
}

/**
 * Telemetry for `new Stepmark({ telemetry: openTelemetry() })`. Where no SDK is registered, and none is given, nothing is traced
 * and nothing recorded.
 */
export function openTelemetry({ tracer = trace.getTracer("stepmark") }: OpenTelemetryOptions = {}): Telemetry {
  return new OpenTelemetry(tracer);
}

class OpenTelemetry implements Telemetry {
  /** Runs that this process drives, by id: parents of their child runs. */
  private readonly live = new Map<string, Context>();

  constructor(private readonly tracer: Tracer) {}

  here(): Context {
    return context.active();
  }

  begin({ id, workflow, recorded, before, caller, parent }: RunToTrace): RunTrace | undefined {
    const around = (parent === undefined ? undefined : this.live.get(parent)) ?? (caller as Context) ?? ROOT_CONTEXT;
    const attributes = { "stepmark.run.id": id, "stepmark.workflow": workflow, "stepmark.recorded": recorded };
    const span = this.tracer.startSpan(`run ${workflow}`, { attributes, links: linksTo(before) }, around);
    if (!isSpanContextValid(span.spanContext())) return undefined;
    const own = trace.setSpan(around, span);
    this.live.set(id, own);
    return new TracedRun(this.tracer, span, own, attributes, () => {
      if (this.live.get(id) === own) this.live.delete(id);
    });
  }
}

class TracedRun implements RunTrace {
  readonly id: string;
  /** Steps under way. */
  private readonly open = new Set<TracedStep>();

  constructor(
    private readonly tracer: Tracer,
    private readonly span: Span,
    private readonly context: Context,
    private readonly attributes: Attributes,
    private readonly onEnd: () => void,
  ) {
    this.id = spelt(span.spanContext());
  }

  within<T>(work: () => T): T {
    return context.with(this.context, work);
  }

  step({ key, name, at, around, retries }: StepToTrace): StepTrace {
    const { "stepmark.recorded": _, ...ofRun } = this.attributes;
    const attributes = { ...ofRun, "stepmark.key": key, ...(at !== undefined && { "stepmark.at": at }) };
    const parent = around instanceof TracedAttempt ? around.context : this.context;
    const step = new TracedStep(this.tracer, name ?? "#", attributes, parent, retries, () => this.open.delete(step));
    this.open.add(step);
    return step;
  }

  end(status: Parameters<RunTrace["end"]>[0], error: unknown): void {
    // Bodies that this process does not wait for any more: nothing of them is recorded.
    for (const step of this.open) step.cutOff();
    close(this.span, status, status === "failed" ? error : undefined);
    this.onEnd();
  }
}

class TracedStep implements StepTrace {
  private readonly span: Span;
  private readonly context: Context;
  private last: TracedAttempt | undefined;

  constructor(
    private readonly tracer: Tracer,
    private readonly name: string,
    private readonly attributes: Attributes,
    parent: Context,
    /** Whether attempts have spans of their own. */
    private readonly retries: boolean,
    private readonly onEnd: () => void,
  ) {
    this.span = tracer.startSpan(`step ${name}`, { attributes }, parent);
    this.context = trace.setSpan(parent, this.span);
  }

  attempt(number: number): AttemptTrace {
    if (!this.retries) {
      this.last = new TracedAttempt(undefined, this.span, this.context);
      return this.last;
    }
    const attributes = { ...this.attributes, "stepmark.attempt": number };
    const span = this.tracer.startSpan(`attempt ${this.name}`, { attributes }, this.context);
    this.last = new TracedAttempt(span, span, trace.setSpan(this.context, span));
    return this.last;
  }

  end(status: "done" | "failed", attempts: number, error: unknown): void {
    this.span.setAttribute("stepmark.attempt", attempts);
    close(this.span, status, error);
    this.onEnd();
  }

  cutOff(): void {
    this.last?.cutOff();
    close(this.span, "cut off", undefined);
    this.onEnd();
  }
}

class TracedAttempt implements AttemptTrace {
  private over = false;

  constructor(
    /** What ends with it; undefined if that is the step's. */
    private readonly span: Span | undefined,
    private readonly shown: Span,
    readonly context: Context,
  ) {}

  within<T>(work: () => T): T {
    // Over what is active at the call: the user's own baggage stays.
    return context.with(trace.setSpan(context.active(), this.shown), work);
  }

  end(status: "done" | "failed", error: unknown): void {
    if (this.span !== undefined && !this.over) close(this.span, status, error);
    this.over = true;
  }

  cutOff(): void {
    if (this.span !== undefined && !this.over) close(this.span, "cut off", undefined);
    this.over = true;
  }
}

function close(span: Span, status: string, error: unknown): void {
  span.setAttribute("stepmark.status", status);
  if (status === "failed") {
    const code = isA(error, Error) ? fieldOf(error, "code") : undefined;
    if (typeof code === "string") span.setAttribute("stepmark.error.code", code);
    span.recordException(isA(error, Error) ? error : wordsOf(error));
    span.setStatus({ code: SpanStatusCode.ERROR, message: wordsOf(error) });
  }
  span.end();
}

/** A span as the `traceparent` header of W3C Trace Context has it. */
function spelt({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
}

function linksTo(before: string | undefined): Link[] {
  const [, traceId, spanId, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(before ?? "") ?? [];
  if (traceId === undefined || spanId === undefined) return [];
  return [{ context: { traceId, spanId, traceFlags: Number.parseInt(flags!, 16), isRemote: true } }];
}
