import type { FastifyReply, FastifyRequest } from 'fastify';
import { inSpan, inTrace, type Span, startSpan } from '../telemetry/tracing.ts';

const spans = new WeakMap<object, Span>();

/** Polled every few seconds by proxies and orchestrators. */
const NOT_TRACED = ['/healthz', '/readyz'];

/** Begins a request's span, in the client's trace if it sent a `traceparent`. */
export function traceRequest(request: FastifyRequest, reply: FastifyReply): void {
  const { method, headers, id } = request;
  const route = request.routeOptions.url ?? 'unknown';
  if (NOT_TRACED.includes(route)) return;
  const attributes = { 'http.request.method': method, 'http.route': route, 'request.id': id };
  const start = { name: `${method} ${route}`, kind: 'server', attributes } as const;
  const span = startSpan(start, headers.traceparent?.toString());
  if (!span) return;
  spans.set(request, span);
  reply.raw.once('close', () => {
    const status = reply.raw.statusCode;
    span.set({ 'http.response.status_code': status });
    if (status >= 500) span.fail(String(status));
    span.end();
  });
}

/** The span of a request; undefined while tracing is off. */
export function spanOf(request: object): Span | undefined {
  return spans.get(request);
}

/** Runs work in a request's trace, so that its spans and log lines belong to it. */
export function inRequest<T>(request: object, work: () => T): T {
  return inTrace(spans.get(request)?.traceparent, work);
}

/** Runs work in a child span of the request's. */
export function inSpanOf<T>(request: object, name: string, work: () => Promise<T>): Promise<T> {
  return inRequest(request, () => inSpan({ name }, work));
}
