import type { FastifyInstance } from 'fastify';
import type { Database } from '../kernel/database.ts';
import { ApiError } from '../kernel/errors.ts';
import type { Links } from '../storage/links.ts';
import { findObject, type StoredObject } from '../storage/objects.ts';
import { ObjectMissing, type Storage } from '../storage/storage.ts';
import { rangeOf } from './range.ts';

export interface MediaRouteParts {
  db: Database;
  links: Links;
  storage: Storage;
}

interface MediaRequest {
  Params: { file: string };
  Querystring: { expires?: string; signature?: string };
}

/** GET and HEAD /media/{object}.mp4: delivery by signed, expiring links, with ranges. */
export function mediaRoute(app: FastifyInstance, parts: MediaRouteParts): void {
  app.get<MediaRequest>('/media/:file', { schema: { hide: true } }, async (request, reply) => {
    const id = request.params.file.replace(/\.mp4$/, '');
    const object = await deliverable(parts, id, request.query);
    const size = object.size_bytes;
    reply.type(object.media_type).header('accept-ranges', 'bytes').header('etag', `"${id}"`);
    reply.header('cache-control', 'private, max-age=3600');
    const range = rangeOf(request.headers, { size, etag: `"${id}"` });
    if (range === 'unsatisfiable') {
      return reply.code(416).header('content-range', `bytes */${size}`).send();
    }
    if (range)
      reply.code(206).header('content-range', `bytes ${range.first}-${range.last}/${size}`);
    reply.header('content-length', range ? range.last - range.first + 1 : size);
    if (request.method === 'HEAD') return reply.send();
    return reply.send(await openObject(parts.storage, id, range));
  });
}

async function deliverable(
  { db, links }: MediaRouteParts,
  id: string,
  query: MediaRequest['Querystring'],
): Promise<StoredObject> {
  const expiresSeconds = links.expiryOf(id, query);
  const object = await findObject(db, id, 'output');
  if (!object || object.state === 'writing') {
    throw new ApiError('link_invalid', 'This link is not valid.');
  }
  if (object.state !== 'ready') throw deleted();
  if (expiresSeconds < object.now_seconds) {
    const message = 'This link has expired. Read the task again for a fresh one.';
    throw new ApiError('link_expired', message);
  }
  return object;
}

function deleted(): ApiError {
  return new ApiError('output_deleted', 'This video is past its retention and was deleted.');
}

async function openObject(
  storage: Storage,
  id: string,
  range: { first: number; last: number } | undefined,
) {
  try {
    return await storage.open(id, range);
  } catch (error) {
    if (error instanceof ObjectMissing) throw deleted();
    throw error;
  }
}
