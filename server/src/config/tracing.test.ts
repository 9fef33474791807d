import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTracing } from './tracing.ts';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

test('tracing is off until an endpoint or the exporter is set', () => {
  assert.equal(readTracing({}), undefined);
  const on = { sampler: 'parentbased_always_on', ratio: 1 };
  assert.deepEqual(readTracing(ENDPOINT), on);
  assert.deepEqual(readTracing({ OTEL_TRACES_EXPORTER: 'otlp' }), on);
  assert.equal(readTracing({ ...ENDPOINT, OTEL_SDK_DISABLED: 'true' }), undefined);
  assert.equal(readTracing({ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }), undefined);
});

test('the sampler and its share are those of the variables', () => {
  const env = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.01' };
  assert.deepEqual(readTracing({ ...ENDPOINT, ...env }), { sampler: 'traceidratio', ratio: 0.01 });
});

test('values that OpenTelemetry knows and the service does not have keep it from starting', () => {
  for (const [name, value] of [
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_TRACES_EXPORTER', 'zipkin'],
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote'],
    ['OTEL_TRACES_SAMPLER_ARG', '2'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317'],
    ['OTEL_SDK_DISABLED', 'yes'],
  ] as const) {
    assert.throws(() => readTracing({ [name]: value }), { message: new RegExp(`^${name}=`) });
  }
});
