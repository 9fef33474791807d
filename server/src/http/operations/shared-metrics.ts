import { type FastifyInstance, fastify } from 'fastify';
import { AggregatorRegistry, type Registry } from 'prom-client';

/** In a process that another one has started: lets that one read the metrics, with this label. */
export function shareMetrics(registry: Registry, processName: string): void {
  registry.setDefaultLabels({ process: processName });
  AggregatorRegistry.setRegistries([registry]);
  new AggregatorRegistry(); // responds to the process that asks
}

/** In the process that has started the others: a server with `/metrics` of all of them. */
export function createSharedMetrics(): FastifyInstance {
  const registry = new AggregatorRegistry();
  const app = fastify();
  app.get('/metrics', async (_request, reply) => {
    return reply.type(registry.contentType).send(await registry.clusterMetrics());
  });
  return app;
}
