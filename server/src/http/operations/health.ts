import type { FastifyInstance } from 'fastify';
import { VERSION } from '../../kernel/version.ts';

/**
 * /healthz responds 200 with the version while the process runs; /readyz responds 200 if the
 * process can handle requests, else 503.
 */
export function healthRoutes(
  app: FastifyInstance,
  deps: { isReady(): Promise<boolean>; isDiskFull?: (() => Promise<boolean>) | undefined },
): void {
  app.get('/healthz', async () => ({ status: 'ok', version: VERSION }));
  app.get('/readyz', async (_request, reply) => {
    const [ready, full] = await Promise.all([deps.isReady(), deps.isDiskFull?.()]);
    if (full) return reply.code(503).send({ status: 'not ready', disk: 'full' });
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not ready' });
  });
}
