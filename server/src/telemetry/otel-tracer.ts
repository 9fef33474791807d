import {
  type Context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Span, Tracer, TracingSettings } from './tracing.ts';

const FROM_ENVIRONMENT = [resourceAttributesEnvDetector, serviceNameEnvDetector];
const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT };

/** `ExportResultCode.SUCCESS` of @opentelemetry/core. */
const SENT = 0;
const CLOSE_SECONDS = 3;
const PROBLEM_SECONDS = 60;

/**
 * Sends spans as OTLP over HTTP (OTEL_EXPORTER_OTLP_*). No work waits for it: spans that can't be
 * sent are dropped.
 * @param onProblem receives why spans can't be sent, at most once a minute
 */
export function openTracer(settings: TracingSettings, onProblem: (cause: string) => void): Tracer {
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'framewright' }))
      .merge(detectResources({ detectors: FROM_ENVIRONMENT })),
    sampler: samplerOf(settings),
    spanProcessors: [new BatchSpanProcessor({ exporter: openExporter(onProblem) })],
  });
  const tracer = provider.getTracer('framewright');
  return {
    start(start, parent) {
      const { name, kind, attributes = {}, link, secondsAgo } = start;
      const linked = contextOf(link);
      const options = {
        kind: kind === undefined ? SpanKind.INTERNAL : KINDS[kind],
        attributes,
        ...(linked && { links: [{ context: linked }] }),
        ...(secondsAgo !== undefined && { startTime: Date.now() - secondsAgo * 1000 }),
      };
      return wrap(tracer.startSpan(name, options, parentOf(parent)));
    },
    async close() {
      const late = new Promise((resolve) => setTimeout(resolve, CLOSE_SECONDS * 1000).unref());
      await Promise.race([provider.shutdown().catch(() => {}), late]);
    },
  };
}

function samplerOf({ sampler, ratio }: TracingSettings): Sampler {
  const [, isByParent, kind] = /^(parentbased_)?(.*)$/.exec(sampler) ?? [];
  const share = kind === 'traceidratio' ? ratio : 0;
  const root = kind === 'always_on' ? new AlwaysOnSampler() : new TraceIdRatioBasedSampler(share);
  return isByParent === undefined ? root : new ParentBasedSampler({ root });
}

function parentOf(traceparent: string | undefined): Context {
  const parent = contextOf(traceparent);
  return parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
}

// Later versions may have more fields; version ff is not allowed.
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** @returns undefined when the text is not a valid traceparent (W3C Trace Context, section 3.2) */
function contextOf(traceparent = ''): SpanContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] =
    TRACEPARENT.exec(traceparent) ?? [];
  if (version === undefined || (version === '00' && more !== undefined)) return undefined;
  const traceFlags = Number.parseInt(flags, 16) & 1;
  const found = { traceId, spanId, traceFlags, isRemote: true };
  return isSpanContextValid(found) ? found : undefined;
}

function wrap(span: ReturnType<ReturnType<TracerProvider['getTracer']>['startSpan']>): Span {
  const { traceId, spanId, traceFlags } = span.spanContext();
  let isDiscarded = false;
  return {
    traceparent: `00-${traceId}-${spanId}-0${traceFlags & 1}`,
    set: (attributes) => void span.setAttributes(attributes),
    fail(reason) {
      span.setAttribute('error.type', reason);
      span.setStatus({ code: SpanStatusCode.ERROR });
    },
    discard() {
      isDiscarded = true;
    },
    end() {
      if (!isDiscarded) span.end(); // a span that never ends is not exported
    },
  };
}

/** An exporter over HTTP that reports each failure, but not more often than once a minute. */
function openExporter(onProblem: (cause: string) => void): SpanExporter {
  const exporter = new OTLPTraceExporter();
  let reportedAt = Number.NEGATIVE_INFINITY;
  const note = (error: Error | undefined) => {
    if (performance.now() - reportedAt < PROBLEM_SECONDS * 1000) return;
    reportedAt = performance.now();
    onProblem(error?.message ?? 'unknown');
  };
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code !== SENT) note(result.error);
        done(result);
      });
    },
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  };
}
