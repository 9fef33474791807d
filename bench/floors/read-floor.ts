/**
 * A program with a bare Fastify route that reads one row by its primary key; it returns its URL
 * and process id.
 */
import { fastify } from 'fastify';
import { openDatabase, statement } from '../../server/src/database/database.ts';
import { createLog } from '../../server/src/kernel/log.ts';
import { type ProgramAddress, serveRequests } from '../program.ts';

export interface ReadFloorSetup {
  databaseUrl: string;
  connections: number;
}

const READ = statement(
  'floor_read',
  `select id, phase, credits, output_object_id, error_code, error_message, created_at, updated_at
   from tasks where id = $1`,
);

serveRequests<ReadFloorSetup, object, ProgramAddress>(async ({ databaseUrl, connections }) => {
  const log = createLog({ level: 'warn' });
  const db = openDatabase({ url: databaseUrl, connections, log });
  const app = fastify();
  app.get<{ Params: { id: string } }>('/api/v1/tasks/:id', async (request) => {
    const [task] = await db.query(READ, [request.params.id]);
    return task;
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    handle: async () => ({ url, pid: process.pid }),
    close: async () => {
      await app.close();
      await db.close();
    },
  };
});
