import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Queryable } from '../../database/database.ts';
import { spanOf } from '../../requests/spans.ts';
import { tracedTaskOf } from '../../tasks/task.ts';
import { isTracing, startSpan } from '../../telemetry/tracing.ts';

/**
 * Shows a delivery in the trace of its task, linked with the span of the request: a request for a
 * file has no trace context of the create. Costs one query while tracing is on, none otherwise.
 */
export async function traceDelivery(
  db: Queryable,
  objectId: string,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): Promise<void> {
  if (!isTracing()) return;
  const task = await tracedTaskOf(db, objectId);
  if (!task) return;
  const attributes = { 'task.id': task.id, 'object.id': objectId, 'request.id': request.id };
  const link = spanOf(request)?.traceparent;
  const secondsAgo = reply.elapsedTime / 1000;
  const span = startSpan({ name: 'deliver', attributes, link, secondsAgo }, task.traceparent);
  reply.raw.once('close', () => {
    span?.set({ 'http.response.status_code': reply.raw.statusCode });
    span?.end();
  });
}
