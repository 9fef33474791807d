import { type FastifyInstance, fastify } from 'fastify';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { type Database, statement } from '../kernel/database.ts';

/** What the service counts, and the small server that shows it to Prometheus. */
export interface Metrics {
  app: FastifyInstance;
  countAnswer(answer: { route: string; status: number; seconds: number }): void;
}

const PHASES = statement(
  'metrics_phases',
  `select phase, count(*)::int as count,
     coalesce(max(extract(epoch from clock_now() - updated_at)), 0)::float8 as oldest_seconds
   from tasks where due_at is not null group by phase`,
);

const LIVE_PHASES = ['reserved', 'ingesting', 'submitting', 'generating', 'archiving', 'held'];

export function createMetrics(db: Database): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const answers = new Counter({
    name: 'framewright_http_answers_total',
    help: 'Answers given, by route and status',
    labelNames: ['route', 'status'],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: 'framewright_http_answer_seconds',
    help: 'Seconds from request to answer, by route; a create includes its wait',
    labelNames: ['route'],
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
    registers: [registry],
  });
  gaugeTasks(db, registry);
  const app = fastify();
  app.get('/metrics', async (_request, reply) => {
    return reply.type(registry.contentType).send(await registry.metrics());
  });
  return {
    app,
    countAnswer(answer) {
      answers.inc({ route: answer.route, status: answer.status });
      seconds.observe({ route: answer.route }, answer.seconds);
    },
  };
}

function gaugeTasks(db: Database, registry: Registry): void {
  const oldest = new Gauge({
    name: 'framewright_oldest_task_seconds',
    help: 'Seconds since the last transition of the task that rests the longest, by phase',
    labelNames: ['phase'],
    registers: [registry],
  });
  new Gauge({
    name: 'framewright_tasks',
    help: 'Tasks that have not ended, by phase',
    labelNames: ['phase'],
    registers: [registry],
    async collect() {
      const rows = await db.query<{ phase: string; count: number; oldest_seconds: number }>(PHASES);
      for (const phase of LIVE_PHASES) {
        const row = rows.find((candidate) => candidate.phase === phase);
        this.set({ phase }, row?.count ?? 0);
        oldest.set({ phase }, row?.oldest_seconds ?? 0);
      }
    },
  });
}
