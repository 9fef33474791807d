import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Database } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import type { Links } from '../../storage/links.ts';
import { readObject, type StoredObject } from '../../storage/objects.ts';
import { ObjectMissing, type Storage } from '../../storage/storage.ts';
import { isArchivedOutput } from '../../tasks/archived.ts';
import { rangeOf } from './range.ts';

export interface MediaRouteDeps {
  db: Database;
  links: Links;
  storage: Storage;
}

interface MediaRequest {
  Params: { file: string };
  Querystring: { expires?: string; signature?: string };
}

/**
 * GET and HEAD /media/{object}.{file ending}, with ranges: clients download outputs and providers
 * download inputs, by signed links that expire (C17).
 */
export function mediaRoute(app: FastifyInstance, deps: MediaRouteDeps): void {
  const route = { method: ['GET', 'HEAD'], url: '/media/:file', schema: { hide: true } };
  app.route<MediaRequest>({ ...route, handler: deliver });

  async function deliver(request: FastifyRequest<MediaRequest>, reply: FastifyReply) {
    const id = request.params.file.replace(/\.\w{2,4}$/, '');
    const object = await deliverable(deps, id, request.query);
    const file = { size: object.size_bytes, etag: `"${id}"` };
    const range = rangeOf(request.headers, file);
    if (range === 'unsatisfiable') {
      reply.header('content-range', `bytes */${file.size}`);
      throw new ApiError(
        'range_not_satisfiable',
        `The range begins after the end: the file has ${file.size} bytes.`,
      );
    }
    const bytes = request.method === 'GET' ? await openObject(deps.storage, id, range) : undefined;
    reply.headers({
      'content-type': object.media_type,
      'content-length': range ? range.last - range.first + 1 : file.size,
      'accept-ranges': 'bytes',
      etag: file.etag,
      'cache-control': 'private, max-age=3600',
    });
    if (range) {
      reply.code(206).header('content-range', `bytes ${range.first}-${range.last}/${file.size}`);
    }
    return reply.send(bytes);
  }
}

async function deliverable(
  { db, links }: MediaRouteDeps,
  id: string,
  query: MediaRequest['Querystring'],
): Promise<StoredObject> {
  const expiresSeconds = links.expiryOf(id, query);
  const object = await readObject(db, id, ['output', 'input']);
  if (!object && (await isArchivedOutput(db, id))) throw deleted();
  if (!object || object.state === 'writing') {
    throw new ApiError(
      'link_invalid',
      'This link is not valid. Read the task again for a new one.',
    );
  }
  if (object.state !== 'ready') throw deleted();
  if (expiresSeconds < object.now_seconds) {
    const message = 'This link has expired. Read the task again for a new one.';
    throw new ApiError('link_expired', message);
  }
  return object;
}

function deleted(): ApiError {
  return new ApiError(
    'output_deleted',
    'This video was deleted: its retention has ended, or the operator has removed it.',
  );
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
