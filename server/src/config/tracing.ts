import { choice, type Environment, number, read, refuseVariable } from '../kernel/variables.ts';
import { SAMPLERS, type TracingSettings } from '../telemetry/tracing.ts';

/** OpenTelemetry's own variables. @returns undefined if tracing is off */
export function readTracing(env: Environment): TracingSettings | undefined {
  const isDisabled = choice(env, 'OTEL_SDK_DISABLED', 'false', ['false', 'true']) === 'true';
  const endpoints = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
  for (const name of endpoints) checkAddress(env, name);
  const isSet = endpoints.some((name) => read(env, name, '') !== '');
  const exporter = choice(env, 'OTEL_TRACES_EXPORTER', isSet ? 'otlp' : 'none', ['otlp', 'none']);
  choice(env, 'OTEL_EXPORTER_OTLP_PROTOCOL', 'http/json', ['http/json']);
  const sampler = choice(env, 'OTEL_TRACES_SAMPLER', 'parentbased_always_on', SAMPLERS);
  const ratio = number(env, 'OTEL_TRACES_SAMPLER_ARG', 1, { max: 1 });
  return isDisabled || exporter === 'none' ? undefined : { sampler, ratio };
}

function checkAddress(env: Environment, name: string): void {
  const text = read(env, name, '');
  if (text !== '' && !/^https?:$/.test(URL.parse(text)?.protocol ?? '')) {
    refuseVariable(name, text, 'an http or https address, such as http://collector:4318');
  }
}
