import type { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { lockOpenAccount } from '../../accounts/accounts.ts';
import { countRequest } from '../../accounts/rate-window.ts';
import { isDatabaseUnavailable, type Transaction } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { hasPaid } from '../../ledger/payments.ts';
import { mailboxOf } from '../../sign-in/email-address.ts';
import { DiskFull } from '../../storage/free-space.ts';
import { ObjectMissing } from '../../storage/storage.ts';
import { hasVanished } from '../../storage/vanished.ts';
import { requireRoom } from '../../tasks/uploads/quota.ts';
import { type ReceiveDeps, type Received, receiveUpload } from '../../tasks/uploads/receive.ts';
import { readUpload } from '../../tasks/uploads/uploads.ts';
import { type SiteRoute, sessionOf, siteRoute } from '../route.ts';
import { type MinRate, uploadBody } from './upload-body.ts';
import { MAX_UPLOAD_BYTES, MIN_UPLOAD_RATE, UPLOAD_SECONDS } from './upload-limits.ts';
import { createPlaces, type UploadPlace } from './upload-places.ts';
import { type UploadView, uploadView } from './upload-view.ts';

export interface UploadDeps extends ReceiveDeps {
  log: Log;
  minUploadRate?: MinRate;
  uploadGraceSeconds?: number;
}

/** Each sends up to 100 MB, which the storage may charge for. */
const DOWNLOADS = { max: 60, seconds: 60 };

/** Uploads that an account may begin. */
const UPLOADS = { max: 60, seconds: 600 };

/**
 * POST /console/api/uploads: receives the raw bytes of an image or a video. Needs Content-Type and
 * Content-Length; what the file is, its bytes decide.
 */
export const createUpload: SiteRoute<
  UploadDeps,
  {
    url: '/console/api/uploads';
    method: 'POST';
    body: Blob;
    query: undefined;
    result: UploadView;
  }
> = {
  serve(scope, deps) {
    const places = createPlaces({ graceSeconds: deps.uploadGraceSeconds });
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, body, done) => done(null, body));
    scope.route<{ Body: Readable }>({
      method: 'POST',
      url: '/console/api/uploads',
      schema: { hide: true },
      config: { access: 'session', bodySeconds: UPLOAD_SECONDS },
      handler: async (request, reply) => {
        const { accountId, email } = sessionOf(request);
        const { expected, sizeBytes } = declared(request.headers);
        await countRequest(deps.db, `uploads:${accountId}`, UPLOADS);
        const lockOpen = (tx: Transaction) => lockOpenAccount(tx, accountId);
        const uploader = { accountId, mailbox: mailboxOf(email), lockOpen };
        await requireRoom(deps.db, uploader, sizeBytes);
        const file = { uploader, expected, sizeBytes };
        const comer = { ...uploader, isPaying: await hasPaid(deps.db, accountId) };
        const id = await places.run(comer, (place) => receive(deps, file, { reply, place }));
        return reply.code(201).send(await existing(deps, { accountId, id }));
      },
    });
  },
};

async function receive(
  deps: UploadDeps,
  file: Omit<Received, 'signal' | 'bytes'>,
  { reply, place }: { reply: FastifyReply; place: UploadPlace },
): Promise<string> {
  const { raw } = reply;
  const gone = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort(new Error('the client has closed the connection'));
  });
  const body = reply.request.body as Readable;
  const bytes = uploadBody(body, deps.minUploadRate ?? MIN_UPLOAD_RATE, (arrived) => {
    place.arrived += arrived;
  });
  place.bytes = bytes;
  try {
    return await receiveUpload(deps, { ...file, bytes, signal: gone.signal });
  } catch (cause) {
    const isOfBody = cause === bytes.errored;
    if (isOfBody) reply.header('connection', 'close'); // nobody waits for the rest
    if (cause instanceof ApiError || isDatabaseUnavailable(cause)) throw cause;
    if (gone.signal.aborted || isOfBody)
      throw refuse('incomplete', 'The upload broke off. Try again.', cause);
    if (cause instanceof DiskFull) throw noSpace(cause);
    throw notNow('stored', cause); // a full disk, or a storage that does not respond
  } finally {
    bytes.destroy(); // what failed before it read them must not leave the body paused for ever
  }
}

/** @throws ApiError `invalid_request`, `payload_too_large` */
function declared(headers: FastifyRequest['headers']) {
  const kind = /^(image|video)\//.exec(headers['content-type'] ?? '')?.[1];
  if (kind === undefined) throw refuse('not_media', 'Upload an image or a video.');
  const sizeBytes = Number(headers['content-length'] ?? 0);
  if (sizeBytes === 0)
    throw refuse('length_required', 'The request must have a Content-Length above zero.');
  if (sizeBytes > MAX_UPLOAD_BYTES) {
    const message = `The file has more than ${MAX_UPLOAD_BYTES / 2 ** 20} MB.`;
    throw new ApiError('payload_too_large', message, {
      details: { limit_bytes: MAX_UPLOAD_BYTES },
    });
  }
  return { expected: kind === 'image' ? 'image' : 'video', sizeBytes } as const;
}

function refuse(reason: string, message: string, cause?: unknown): ApiError {
  return new ApiError('invalid_request', message, { details: { field: 'file', reason }, cause });
}

function notNow(done: 'stored' | 'read', cause: unknown): ApiError {
  const message = `The file can not be ${done} at the moment. Try again in a few seconds.`;
  return new ApiError('service_busy', message, { retryAfterSeconds: 5, cause });
}

/** The Retry-After of an upload while the disk is too full for uploads. */
const NO_SPACE_SECONDS = 60;

function noSpace(cause: DiskFull): ApiError {
  const message = 'The service can store no more files now. Try again in a few minutes.';
  return new ApiError('service_busy', message, { retryAfterSeconds: NO_SPACE_SECONDS, cause });
}

async function existing(deps: UploadDeps, named: { accountId: string; id: string }) {
  const upload = await readUpload(deps.db, named);
  if (!upload) throw noUpload();
  return uploadView(upload);
}

function noUpload(): ApiError {
  return new ApiError('not_found', 'This upload has expired or does not exist.');
}

const IdSchema = Type.Object({ id: Type.String({ maxLength: 120 }) });

/** GET /console/api/uploads/{id}: an upload of the account that can still be used. */
export const getUpload = siteRoute({
  method: 'GET',
  url: '/console/api/uploads/:id',
  params: IdSchema,
  handle: async (deps: UploadDeps, { params, request }): Promise<UploadView> => {
    return existing(deps, { accountId: sessionOf(request).accountId, id: params.id });
  },
});

/** GET /console/api/uploads/{id}/file: its bytes, for a preview. */
export const getUploadFile = siteRoute({
  method: 'GET',
  url: '/console/api/uploads/:id/file',
  rate: DOWNLOADS,
  params: IdSchema,
  handle: async (deps: UploadDeps, { params, request, reply }) => {
    const { id, ...upload } = await existing(deps, {
      accountId: sessionOf(request).accountId,
      id: params.id,
    });
    const bytes = await deps.storage.open(id).catch(async (cause: unknown) => {
      if (!(cause instanceof ObjectMissing)) throw notNow('read', cause);
      await hasVanished(deps, id);
      throw noUpload();
    });
    reply.headers({
      'content-type': upload.media_type,
      'content-length': upload.size_bytes,
      'cache-control': 'private, max-age=3600',
      vary: 'cookie',
    });
    return bytes;
  },
});
