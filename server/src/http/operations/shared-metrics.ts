import { type FastifyInstance, fastify } from 'fastify';
import { AggregatorRegistry, type Registry } from 'prom-client';

/** In a child process: lets its parent collect these metrics, labelled with the process's name. */
export function shareMetrics(registry: Registry, processName: string): void {
  registry.setDefaultLabels({ process: processName });
  AggregatorRegistry.setRegistries([registry]);
  new AggregatorRegistry(); // answers the parent's requests
}

/** In the parent process: a server whose `/metrics` merges the metrics of all children. */
export function createSharedMetrics(): FastifyInstance {
  const registry = new AggregatorRegistry();
  const app = fastify();
  app.get('/metrics', async (_request, reply) => {
    return reply.type(registry.contentType).send(await registry.clusterMetrics());
  });
  return app;
}
