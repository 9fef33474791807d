import { type FastifyInstance, fastify } from 'fastify';
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import type { Database } from '../../database/database.ts';
import type { ProviderCall } from '../../providers/host/instrumented.ts';
import type { CallbackResult } from '../../tasks/attempts/callback.ts';
import { gaugeTasks } from './task-gauges.ts';

/** The counters of the service, and the server from which Prometheus reads all metrics. */
export interface Metrics {
  app: FastifyInstance;
  countResponse(response: { route: string; status: number; seconds: number }): void;
  countProviderCall(call: ProviderCall): void;
  countCallback(provider: string, result: CallbackResult | 'failed'): void;
}

const RESPONSE_BUCKETS = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30];
const CALL_BUCKETS = [0.03, 0.1, 0.3, 1, 3, 10, 30];

/** Creates the metrics and a server with `/metrics`; docs/operations/metrics.md explains each. */
export function createMetrics(db: Database): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  gaugeTasks(db, registry);
  const app = fastify();
  app.get('/metrics', async (_request, reply) => {
    return reply.type(registry.contentType).send(await registry.metrics());
  });
  return {
    app,
    countResponse: responseCounter(registers),
    countProviderCall: callCounter(registers),
    countCallback: callbackCounter(registers),
  };
}

function responseCounter(registers: Registry[]): Metrics['countResponse'] {
  const responses = new Counter({
    name: 'framewright_http_responses_total',
    help: 'Responses, by route and status',
    labelNames: ['route', 'status'],
    registers,
  });
  const seconds = new Histogram({
    name: 'framewright_http_response_seconds',
    help: 'Seconds from request to response, by route; a create includes its wait',
    labelNames: ['route'],
    buckets: RESPONSE_BUCKETS,
    registers,
  });
  return (response) => {
    responses.inc({ route: response.route, status: response.status });
    seconds.observe({ route: response.route }, response.seconds);
  };
}

function callCounter(registers: Registry[]): Metrics['countProviderCall'] {
  const calls = new Counter({
    name: 'framewright_provider_calls_total',
    help: 'Calls of providers, by outcome; a rejected submit is rejected_request|busy|operator',
    labelNames: ['provider', 'call', 'outcome'],
    registers,
  });
  const seconds = new Histogram({
    name: 'framewright_provider_call_seconds',
    help: 'Seconds that a call of a provider takes, by call',
    labelNames: ['provider', 'call'],
    buckets: CALL_BUCKETS,
    registers,
  });
  return ({ provider, call, outcome, seconds: took }) => {
    calls.inc({ provider, call, outcome });
    seconds.observe({ provider, call }, took);
  };
}

function callbackCounter(registers: Registry[]): Metrics['countCallback'] {
  const callbacks = new Counter({
    name: 'framewright_callbacks_total',
    help: 'Callbacks of providers: received, forged, no_such_path, or failed in the service',
    labelNames: ['provider', 'result'],
    registers,
  });
  return (provider, result) => callbacks.inc({ provider, result });
}
