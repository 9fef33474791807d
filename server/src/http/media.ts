import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Database, Queryable } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import { fileEnding } from '../kernel/file-names.ts';
import type { Log } from '../kernel/log.ts';
import { fileMissing, noSuchPath, storageUnavailable } from '../requests/errors.ts';
import { spanOf } from '../requests/spans.ts';
import type { Shares } from '../shares/shares.ts';
import type { Links } from '../storage/links.ts';
import { readObject, type StoredObject } from '../storage/objects.ts';
import { type ByteRange, ObjectMissing, type Storage } from '../storage/storage.ts';
import { reportIfVanished, requireStored } from '../storage/vanished.ts';
import { tracedTaskOf } from '../tasks/task.ts';
import { isTracing, startSpan } from '../telemetry/tracing.ts';

export interface MediaRouteDeps {
  db: Database;
  log: Log;
  links: Links;
  storage: Storage;
  /**
   * `redirect`: a GET of an output is redirected to a presigned link if the storage has them.
   * `proxy`: the service sends the bytes.
   */
  deliveryMode: 'redirect' | 'proxy';
  /** undefined: nothing is shared. */
  shares: Shares | undefined;
}

interface MediaRequest {
  Params: { file: string };
  Querystring: { expires?: string; signature?: string };
}

/**
 * GET and HEAD /media/{object}.{file ending}, with ranges: clients download outputs and providers
 * download inputs, by signed links that expire (C17). HEAD is never redirected: a presigned link is
 * for GET alone.
 */
export function mediaRoute(app: FastifyInstance, deps: MediaRouteDeps): void {
  app.route<MediaRequest>({ method: ['GET', 'HEAD'], url: '/media/:file', handler: deliver });
  sharedRoute(app, deps);

  async function deliver(request: FastifyRequest<MediaRequest>, reply: FastifyReply) {
    const id = request.params.file.replace(/\.\w{2,4}$/, '');
    const object = await readDeliverable(deps, id, request.query);
    const name = `${id}.${fileEnding(object.media_type)}`;
    const headers = { etag: `"${id}"`, 'cache-control': 'private, max-age=3600' };
    return sendFile(deps, { ...object, name, headers }, { request, reply });
  }
}

interface SharedRequest {
  Params: { token: string; name: string };
}

/**
 * GET and HEAD of a shared video and its poster. Their headers name neither object nor task. The
 * service sends the bytes in each mode: a presigned link would outlive the share and its limit.
 */
function sharedRoute(app: FastifyInstance, deps: MediaRouteDeps): void {
  const { shares } = deps;
  app.route<SharedRequest>({
    method: ['GET', 'HEAD'],
    url: '/s/:token/:name',
    async handler(request, reply) {
      const { token, name } = request.params;
      const share = await shares?.find(token);
      const file = share?.files.find((candidate) => candidate.name === name);
      if (!share || !file) throw noSuchPath();
      const begin = (bytes: number) => {
        if (share.begin(reply.raw, bytes)) return;
        const message = 'This video was watched too often today. It can be watched again tomorrow.';
        throw new ApiError('rate_limited', message, { retryAfterSeconds: share.seconds_left });
      };
      const headers = { ...SHARED_HEADERS, etag: `"${share.id}"` };
      const proxied = { ...deps, deliveryMode: 'proxy' } as const;
      return sendFile(proxied, { ...file, headers, begin }, { request, reply });
    },
  });
}

/** A share can end: nothing may cache it, list it in a search, or show it in a frame. */
const SHARED_HEADERS = {
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex',
  'content-security-policy': "frame-ancestors 'none'",
};

interface SentFile extends Pick<StoredObject, 'id' | 'role' | 'media_type' | 'size_bytes'> {
  name: string;
  headers: { etag: string; 'cache-control': string };
  /** Called with the number of bytes before they are sent. @throws if they must not be */
  begin?: (bytes: number) => void;
}

async function sendFile(
  deps: MediaRouteDeps,
  file: SentFile,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
) {
  const { id, size_bytes: size } = file;
  await traceDelivery(deps.db, id, { request, reply });
  const range = rangeOf(request.headers, { size, etag: file.headers.etag });
  if (range === 'unsatisfiable') {
    reply.header('content-range', `bytes */${size}`);
    const message = `The range begins after the end: the file has ${size} bytes.`;
    throw new ApiError('range_not_satisfiable', message);
  }
  const length = range ? range.last - range.first + 1 : size;
  const isGet = request.method === 'GET';
  const link = isGet ? await presignedLink(deps, file) : undefined;
  if (link !== undefined) return reply.redirect(link, 302);
  if (isGet) file.begin?.(length);
  const bytes = await fromStorage(deps, file, async () => {
    if (isGet) return deps.storage.open(id, range);
    await requireStored(deps.storage, id);
    return undefined;
  });
  reply.headers({
    ...file.headers,
    'content-type': file.media_type,
    'content-disposition': `inline; filename="${file.name}"`,
    'content-length': length,
    'accept-ranges': 'bytes',
  });
  if (range) reply.code(206).header('content-range', `bytes ${range.first}-${range.last}/${size}`);
  return reply.send(bytes);
}

/** Short, because a presigned link can't be revoked. A download that has begun continues. */
const PRESIGNED_SECONDS = 300;

/**
 * A presigned link to an output, if outputs are delivered by redirect. Inputs are never redirected:
 * a provider may not follow redirects. The file is looked up first: behind a presigned link, the
 * client would only get the storage's "no such key".
 */
async function presignedLink(deps: MediaRouteDeps, file: SentFile): Promise<string | undefined> {
  const { storage, deliveryMode } = deps;
  const { presign } = storage;
  if (!presign || deliveryMode === 'proxy' || file.role !== 'output') return undefined;
  const options = { mediaType: file.media_type, fileName: file.name };
  const link = await fromStorage(deps, file, async () => {
    await requireStored(storage, file.id);
    return presign(file.id, { seconds: PRESIGNED_SECONDS, ...options });
  });
  return link.url;
}

async function readDeliverable(
  { db, links }: MediaRouteDeps,
  id: string,
  query: MediaRequest['Querystring'],
): Promise<StoredObject> {
  const expiresSeconds = links.expiryOf(id, query);
  const object = await readObject(db, id, ['output', 'input']);
  if (!object || object.state === 'writing') {
    const message = 'This link is not valid. Read the task again for a new one.';
    throw new ApiError('link_invalid', message);
  }
  if (object.state !== 'ready') throw outputDeleted();
  if (expiresSeconds < object.now_seconds) {
    const message = 'This link has expired. Read the task again for a new one.';
    throw new ApiError('link_expired', message);
  }
  return object;
}

function outputDeleted(): ApiError {
  return new ApiError(
    'output_deleted',
    'This video was deleted: its retention has ended, or its owner or the operator has deleted it.',
  );
}

async function fromStorage<Result>(
  deps: MediaRouteDeps,
  { id, name }: SentFile,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ObjectMissing)) throw storageUnavailable('read', error);
    throw (await reportIfVanished(deps, id)) ? fileMissing(name) : outputDeleted();
  }
}

/**
 * Records a delivery in its task's trace, linked to the request's span: downloads carry no trace
 * context of the create. Costs one query while tracing is on, none otherwise.
 */
async function traceDelivery(
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

/**
 * The byte range that a request asks for; undefined: the whole file. As RFC 9110, section 14,
 * allows, multiple ranges, other units, malformed ranges and an If-Range that differs are ignored.
 */
function rangeOf(
  headers: { range?: string | undefined; 'if-range'?: string | string[] | undefined },
  file: { size: number; etag: string },
): ByteRange | 'unsatisfiable' | undefined {
  if (headers['if-range'] !== undefined && headers['if-range'] !== file.etag) return undefined;
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(headers.range?.trim() ?? '') ?? [];
  if (from === '' && to === '') return undefined;
  const end = file.size - 1;
  if (from === '') {
    const length = Math.min(Number(to), file.size);
    return length === 0 ? 'unsatisfiable' : { first: file.size - length, last: end };
  }
  const first = Number(from);
  const last = to === '' ? end : Math.min(Number(to), end);
  if (first > end) return 'unsatisfiable';
  return last < first ? undefined : { first, last };
}
