import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { type OtlpReceiver, openOtlpReceiver } from '../../test/service/otlp-receiver.ts';
import { openTracer } from './otel-tracer.ts';
import {
  inSpan,
  inTrace,
  setTracer,
  startSpan,
  type TracingSettings,
  traceFields,
} from './tracing.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = `00-${TRACE}-b7ad6b7169203331-01`;
const ALWAYS: TracingSettings = { sampler: 'parentbased_always_on', ratio: 1 };

const VARIABLE = 'OTEL_EXPORTER_OTLP_ENDPOINT';

let receiver: OtlpReceiver;
let problems: string[];
beforeEach(async () => {
  receiver = await openOtlpReceiver();
  problems = [];
});
afterEach(async () => {
  setTracer(undefined);
  delete process.env[VARIABLE];
  await receiver[Symbol.asyncDispose]();
});

function trace(settings: TracingSettings, url = receiver.url) {
  process.env[VARIABLE] = url;
  const tracer = openTracer(settings, (cause) => problems.push(cause));
  setTracer(tracer);
  return tracer;
}

test('without a tracer no span is made, and log lines have no trace', async () => {
  assert.equal(startSpan({ name: 'request' }, PARENT), undefined);
  const fields = await inTrace(PARENT, () => inSpan({ name: 'step' }, async () => traceFields()));
  assert.deepEqual(fields, {});
});

test('a span that failed says so without the message, and a discarded one is not sent', async () => {
  const tracer = trace(ALWAYS);
  const failing = inTrace(PARENT, () =>
    inSpan({ name: 'step' }, async () => {
      await inSpan({ name: 'poll' }, async (span) => span?.discard());
      throw new TypeError('the key fw_live_secret was refused');
    }),
  );
  await assert.rejects(failing, TypeError);
  await tracer.close();
  const seen = receiver.spans().map(({ name, status }) => [name, status?.code]);
  assert.deepEqual(seen, [['step', 2]]);
  assert.match(receiver.text(), /TypeError/);
  assert.doesNotMatch(receiver.text(), /fw_live/);
});

test('a malformed traceparent begins a new trace', () => {
  trace(ALWAYS);
  for (const wrong of [
    'x',
    PARENT.toUpperCase(),
    `${PARENT}-00`,
    PARENT.replace(/^00/, 'ff'),
    PARENT.replace(TRACE, '0'.repeat(32)),
    PARENT.replace('b7ad6b7169203331', '0'.repeat(16)),
  ]) {
    const traceparent = startSpan({ name: 'request' }, wrong)?.traceparent ?? TRACE;
    assert.doesNotMatch(traceparent, /^00-0af7/, wrong);
  }
  const newer = startSpan({ name: 'request' }, `${PARENT.replace(/^00/, '01')}-more`);
  assert.match(newer?.traceparent ?? '', new RegExp(`^00-${TRACE}-.*-01$`));
});

test('a parentbased sampler follows the client, a sampler by ratio does not', async () => {
  const decisions = (settings: TracingSettings) => {
    trace(settings);
    return [PARENT, PARENT.replace(/01$/, '00'), undefined].map((parent) =>
      startSpan({ name: 'request' }, parent)?.traceparent.slice(-2),
    );
  };
  assert.deepEqual(decisions({ sampler: 'parentbased_traceidratio', ratio: 0 }), [
    '01',
    '00',
    '00',
  ]);
  assert.deepEqual(decisions({ sampler: 'traceidratio', ratio: 0 }), ['00', '00', '00']);
  assert.deepEqual(decisions({ sampler: 'traceidratio', ratio: 1 }), ['01', '01', '01']);
  assert.deepEqual(decisions({ sampler: 'parentbased_always_off', ratio: 1 }), ['01', '00', '00']);
  assert.deepEqual(decisions({ sampler: 'always_off', ratio: 1 }), ['00', '00', '00']);
});

test('what the collector refuses is reported, and the tracer closes all the same', async () => {
  await using refusing = await openOtlpReceiver(400);
  const tracer = trace(ALWAYS, refusing.url);
  startSpan({ name: 'request' }, undefined)?.end();
  await tracer.close();
  assert.deepEqual(problems, ['Bad Request']);
});
