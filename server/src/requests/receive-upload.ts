import { type Duplex, finished, PassThrough, type Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { rateKeyOf } from '../accounts/client-network.ts';
import { countRequest } from '../accounts/rate-window.ts';
import { isDatabaseUnavailable } from '../database/database.ts';
import { ApiError, invalidRequest } from '../kernel/errors.ts';
import { hasPaid } from '../ledger/payments.ts';
import { mailboxOf } from '../sign-in/email-address.ts';
import { DiskFull } from '../storage/free-space.ts';
import { requireQuota, type Uploader } from '../uploads/quota.ts';
import {
  hashReceived,
  type ReceiveDeps,
  type Received,
  receiveUpload,
} from '../uploads/receive.ts';
import { readUpload, UPLOAD_DAYS, type Upload } from '../uploads/uploads.ts';
import { requirePlain } from './bodies.ts';
import { storageUnavailable } from './errors.ts';
import { openUploadSlots, type UploadSlot } from './upload-slots.ts';

const MEGABYTE = 2 ** 20;

export const MAX_UPLOAD_BYTES = 100 * MEGABYTE;

/** Enough for the largest upload at one megabit per second. */
export const UPLOAD_SECONDS = 900;

/** Slower uploads are ended: a stalled connection must not keep its slot. */
const MIN_UPLOAD_RATE = { bytes: MEGABYTE / 2, seconds: 30 };

export interface UploadDeps extends ReceiveDeps {
  minUploadRate?: MinRate;
}

const UPLOADS = { name: 'uploads', max: 60, seconds: 600 };

/** An upload's owner, and the surface that received it. */
export interface UploadOwner {
  accountId: string;
  email: string;
  surface: keyof typeof UPLOAD_DAYS;
}

/** Receives a process's uploads, from the website and the public API. */
export type Uploads = ReturnType<typeof openUploads>;

export function openUploads(deps: UploadDeps) {
  const { db } = deps;
  const slots = openUploadSlots();
  const visitorSlots = openUploadSlots();
  return {
    /** @returns the id of the upload */
    async receive(request: FastifyRequest, reply: FastifyReply, owner: UploadOwner) {
      const { expected, sizeBytes } = declared(request.headers);
      const uploader = await admitUpload(db, owner, sizeBytes);
      const file = { uploader, expected, sizeBytes };
      const isPaying = await hasPaid(db, owner.accountId);
      const requester = { holder: uploader.mailbox, isPaying };
      return slots.run(requester, (slot) =>
        withBody(deps, { reply, slot }, (body) => receiveUpload(deps, { ...file, ...body })),
      );
    },
    /**
     * Receives a visitor's video, with which the verify page searches for similar outputs, and
     * deletes it.
     * @returns hashes of its frames
     */
    hashFrames(request: FastifyRequest, reply: FastifyReply) {
      const { sizeBytes } = declared(request.headers);
      const visitor = { holder: rateKeyOf(request.ip), isPaying: false };
      return visitorSlots.run(visitor, (slot) =>
        withBody(deps, { reply, slot }, (body) => hashReceived(deps, { ...body, sizeBytes })),
      );
    },
  };
}

/**
 * Counts an upload as begun, and checks its mailbox's quota.
 * @throws ApiError `rate_limited`; `invalid_request` with the reason `quota_exceeded`
 */
export async function admitUpload(
  db: ReceiveDeps['db'],
  { accountId, email, surface }: UploadOwner,
  sizeBytes: number,
): Promise<Uploader> {
  await countRequest(db, `uploads:${accountId}`, UPLOADS);
  const uploader: Uploader = {
    accountId,
    mailbox: mailboxOf(email),
    lastsDays: UPLOAD_DAYS[surface],
  };
  await requireQuota(db, uploader, sizeBytes);
  return uploader;
}

/** Hands request bodies to a scope's handlers as streams, whatever their type. */
export function acceptStreams(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, body, done) => done(null, body));
}

/** Does work with a request's body while it arrives, and maps what can go wrong to ApiErrors. */
async function withBody<T>(
  deps: UploadDeps,
  { reply, slot }: { reply: FastifyReply; slot: UploadSlot },
  work: (body: Pick<Received, 'signal' | 'bytes'>) => Promise<T>,
): Promise<T> {
  const { raw } = reply;
  const gone = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort(new Error('the client has closed the connection'));
  });
  const body = reply.request.body as Readable;
  const bytes = uploadBody(body, deps.minUploadRate ?? MIN_UPLOAD_RATE, (arrived) => {
    slot.arrived += arrived;
  });
  slot.bytes = bytes;
  try {
    return await work({ bytes, signal: gone.signal });
  } catch (cause) {
    const isOfBody = cause === bytes.errored;
    if (isOfBody) reply.header('connection', 'close'); // don't wait for the rest
    if (cause instanceof ApiError || isDatabaseUnavailable(cause)) throw cause;
    if (gone.signal.aborted || isOfBody)
      throw refused({ reason: 'incomplete', message: 'The upload broke off. Try again.', cause });
    if (cause instanceof DiskFull) throw noSpace(cause);
    throw storageUnavailable('stored', cause); // or the disk ran full despite the check
  } finally {
    bytes.destroy(); // a failure before the body was read must not leave it paused for ever
  }
}

/** What the headers declare. @throws ApiError `invalid_request`, `payload_too_large` */
function declared(headers: FastifyRequest['headers']) {
  requirePlain(headers);
  const kind = /^(image|video)\//i.exec(headers['content-type'] ?? '')?.[1]?.toLowerCase();
  if (kind === undefined) {
    const message = 'Upload an image or a video, with its Content-Type.';
    throw refused({ reason: 'not_media', message });
  }
  const sizeBytes = Number(headers['content-length'] ?? 0);
  if (sizeBytes === 0) {
    const message = 'The request must have a Content-Length above zero.';
    throw refused({ reason: 'length_required', message });
  }
  if (sizeBytes > MAX_UPLOAD_BYTES) {
    throw new ApiError('payload_too_large', TOO_LARGE, {
      details: { limit_bytes: MAX_UPLOAD_BYTES },
    });
  }
  return { expected: kind === 'image' ? 'image' : 'video', sizeBytes } as const;
}

export const TOO_LARGE = `The file has more than ${MAX_UPLOAD_BYTES / 2 ** 20} MB.`;

interface Refusal {
  reason: string;
  message: string;
  cause?: unknown;
}

function refused({ reason, message, cause }: Refusal): ApiError {
  return invalidRequest(message, { field: 'file', reason }, cause);
}

/** The Retry-After for uploads while the disk is too full. */
const NO_SPACE_SECONDS = 60;

function noSpace(cause: DiskFull): ApiError {
  const message = "The service can't store any more files right now. Try again in a few minutes.";
  return new ApiError('service_busy', message, { retryAfterSeconds: NO_SPACE_SECONDS, cause });
}

export interface UploadView extends Omit<Upload, 'expires_at' | 'now_seconds'> {
  /** For the media fields of the account's creates. */
  url: string;
  expires_at: string;
}

/** @throws ApiError `not_found` unless the account has this upload and it is usable */
export async function shownUpload(
  db: ReceiveDeps['db'],
  named: { accountId: string; id: string },
  urlOf: (id: string) => string,
): Promise<UploadView> {
  const upload = await readUpload(db, named);
  if (!upload) throw noUpload();
  return uploadView(upload, urlOf);
}

export function uploadView(upload: Upload, urlOf: (id: string) => string): UploadView {
  const { now_seconds: _now, expires_at: expires, ...facts } = upload;
  return { url: urlOf(facts.id), ...facts, expires_at: expires.toISOString() };
}

export function noUpload(): ApiError {
  return new ApiError('not_found', 'This upload has expired or does not exist.');
}

const TICKS = 10; // per check: a suspension of the process counts as one tick, not as slowness

export interface MinRate {
  bytes: number;
  seconds: number;
}

/**
 * Streams a body, failing if it arrives too slowly. A reader that stops early does not close the
 * connection, as it would with the body itself: the client gets its response.
 * @param onArrived called with the size of each chunk
 * @throws ApiError `invalid_request` with the reason `too_slow`, in the stream
 */
export function uploadBody(
  body: Readable,
  { bytes: min, seconds }: MinRate,
  onArrived: (bytes: number) => void = () => {},
): Duplex {
  const passed = new PassThrough();
  let arrived = 0;
  let ticks = 0;
  const tick = () => {
    ticks += 1;
    if (ticks % TICKS > 0) return;
    // A paused body is waiting for us, not for the client.
    if (arrived < min && !body.isPaused()) passed.destroy(tooSlow());
    arrived = 0;
  };
  const timer = setInterval(tick, (seconds * 1000) / TICKS);
  const stop = () => clearInterval(timer);
  body.on('data', ({ length }: Buffer) => {
    arrived += length;
    onArrived(length);
  });
  // A body that the route's time limit destroys emits only `close`, and `pipe` does not notice it.
  finished(body, (error) => {
    stop();
    if (error) passed.destroy(error);
  });
  // The reader gets the error; without this listener, an unread body would crash the process.
  passed.on('error', () => {});
  // Added after `pipe`, whose own listener pauses the body when `passed` closes.
  return body.pipe(passed).once('close', () => {
    stop();
    body.resume();
  });
}

function tooSlow(): ApiError {
  const message = 'The file arrives too slowly. Try again, or with a smaller file.';
  return invalidRequest(message, { field: 'file', reason: 'too_slow' });
}
