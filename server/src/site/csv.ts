import type { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

/** Sends a file of comma-separated values. */
export function sendCsv(reply: FastifyReply, fileName: string, body: string | Readable): void {
  reply.headers({
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${fileName}"`,
  });
  reply.send(body);
}
