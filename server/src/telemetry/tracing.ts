import { AsyncLocalStorage } from 'node:async_hooks';

export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

export interface TracingSettings {
  sampler: (typeof SAMPLERS)[number];
  /** The share of traces that a ratio sampler records, 0 to 1. */
  ratio: number;
}

/** Ids, names and counts only: no texts of clients or providers, no URLs, no secrets. */
type Attributes = Record<string, string | number>;

export interface SpanStart {
  name: string;
  /** `server`: handles a request. `client`: a call to another service. Default: `internal`. */
  kind?: 'server' | 'client';
  attributes?: Attributes;
  /** The traceparent of a span in another trace that belongs to the same request. */
  link?: string | undefined;
  /** How long ago the span began. Default: it begins now. */
  secondsAgo?: number;
}

export interface Span {
  /** The span as W3C text: with it, other processes make spans of the same trace. */
  readonly traceparent: string;
  set(attributes: Attributes): void;
  fail(reason: string): void;
  /** Leaves the span out of the trace. Call it before `end`. */
  discard(): void;
  end(): void;
}

/** Creates and exports spans; otel-tracer.ts is loaded only when tracing is on (decisions/0024). */
export interface Tracer {
  /** @param parent a traceparent; without a valid one the span begins a new trace */
  start(start: SpanStart, parent: string | undefined): Span;
  close(): Promise<void>;
}

let tracer: Tracer | undefined;
const current = new AsyncLocalStorage<string>();

export function setTracer(next: Tracer | undefined): void {
  tracer = next;
}

/** Begins a span in the trace of `parent`, or in a new one; undefined while tracing is off. */
export function startSpan(start: SpanStart, parent: string | undefined): Span | undefined {
  return tracer?.start(start, parent);
}

/** Runs work as part of a trace: spans and log lines in it belong to the trace. */
export function inTrace<T>(traceparent: string | null | undefined, work: () => T): T {
  return tracer && traceparent ? current.run(traceparent, work) : work();
}

/** Runs work in a span, if it is part of a trace. The span fails if the work throws. */
export async function inSpan<T>(
  start: SpanStart,
  work: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  const parent = current.getStore();
  if (!tracer || parent === undefined) return work(undefined);
  const span = tracer.start(start, parent);
  try {
    return await current.run(span.traceparent, () => work(span));
  } catch (error) {
    span.fail(error instanceof Error ? error.name : 'error');
    throw error;
  } finally {
    span.end();
  }
}

export function isTracing(): boolean {
  return tracer !== undefined;
}

/** The trace of the work under way, as log fields: a new object, since pino adds to it. */
export function traceFields(): { trace_id?: string; span_id?: string } {
  const traceparent = current.getStore();
  if (traceparent === undefined) return {};
  const [, trace_id = '', span_id = ''] = traceparent.split('-');
  return { trace_id, span_id };
}
