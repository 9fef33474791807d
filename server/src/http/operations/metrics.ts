import { type FastifyInstance, fastify } from 'fastify';
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import type { Database } from '../../database/database.ts';
import type { ProviderCall } from '../../providers/host/instrumented.ts';
import type { Hearing } from '../../tasks/attempts/callback.ts';
import { gaugeTasks } from './task-gauges.ts';

/** What the service counts, and the small server that shows it to Prometheus. */
export interface Metrics {
  app: FastifyInstance;
  countAnswer(answer: { route: string; status: number; seconds: number }): void;
  countProviderCall(call: ProviderCall): void;
  countCallback(provider: string, hearing: Hearing | 'failed'): void;
}

const ANSWER_BUCKETS = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30];
const CALL_BUCKETS = [0.03, 0.1, 0.3, 1, 3, 10, 30];

/** Everything is shown at `/metrics` of its own port; what docs/operations/metrics.md explains. */
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
    countAnswer: answerCounter(registers),
    countProviderCall: callCounter(registers),
    countCallback: callbackCounter(registers),
  };
}

function answerCounter(registers: Registry[]): Metrics['countAnswer'] {
  const answers = new Counter({
    name: 'framewright_http_answers_total',
    help: 'Answers given, by route and status',
    labelNames: ['route', 'status'],
    registers,
  });
  const seconds = new Histogram({
    name: 'framewright_http_answer_seconds',
    help: 'Seconds from request to answer, by route; a create includes its wait',
    labelNames: ['route'],
    buckets: ANSWER_BUCKETS,
    registers,
  });
  return (answer) => {
    answers.inc({ route: answer.route, status: answer.status });
    seconds.observe({ route: answer.route }, answer.seconds);
  };
}

function callCounter(registers: Registry[]): Metrics['countProviderCall'] {
  const calls = new Counter({
    name: 'framewright_provider_calls_total',
    help: 'Calls of providers, by what came of them; a refusal is rejected_request|busy|operator',
    labelNames: ['provider', 'call', 'outcome'],
    registers,
  });
  const seconds = new Histogram({
    name: 'framewright_provider_call_seconds',
    help: 'Seconds that calls of providers took, by call',
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
    help: 'Callbacks of providers: heard, forged, for no such path, or failed on our side',
    labelNames: ['provider', 'hearing'],
    registers,
  });
  return (provider, hearing) => callbacks.inc({ provider, hearing });
}
