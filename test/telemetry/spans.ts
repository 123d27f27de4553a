/** An SDK in this process that keeps its spans, and what tests look at of them. */
import { context, type Span, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";

export interface Sdk {
  readonly exporter: InMemorySpanExporter;
  /** Spans by name, in order of their ends. */
  named(name: string): ReadableSpan[];
  one(name: string): ReadableSpan;
  remove(): void;
}

export function registerSdk(): Sdk {
  const exporter = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const named = (name: string): ReadableSpan[] => exporter.getFinishedSpans().filter((span) => span.name === name);
  return {
    exporter,
    named,
    one(name) {
      const [span, ...more] = named(name);
      if (span === undefined || more.length > 0)
        throw new Error(`${more.length + (span ? 1 : 0)} spans are named ${name}`);
      return span;
    },
    remove() {
      trace.disable();
      context.disable();
    },
  };
}

/** Whether one span is the parent of another. */
export function isChildOf(child: ReadableSpan, parent: ReadableSpan | Span): boolean {
  const { traceId, spanId } = parent.spanContext();
  return child.parentSpanContext?.spanId === spanId && child.spanContext().traceId === traceId;
}
