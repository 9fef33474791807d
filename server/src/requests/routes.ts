import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type TSchemaOptions, Type } from 'typebox';

/** The method and the path of a route, such as `GET /tasks/:id`. */
export type RouteName = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`;

/** A route's method and path, as Fastify options. */
export function methodAndUrl(name: RouteName) {
  const [method = '', url = ''] = name.split(' ');
  return { method: method as 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', url };
}

/** The query parameter for a list's page size. */
export function limitSchema(options: TSchemaOptions = {}) {
  return Type.Optional(Type.Integer({ minimum: 1, maximum: 100, ...options }));
}

/** A text that is sent often, compressed once. */
export interface Text {
  plain: Buffer;
  br: Buffer;
  gzip: Buffer;
  etag: string;
}

const toBrotli = promisify(brotliCompress);
const toGzip = promisify(gzip);

export async function compressed(content: string): Promise<Text> {
  const plain = Buffer.from(content);
  const params = { [constants.BROTLI_PARAM_QUALITY]: 5 };
  const etag = `W/"${createHash('sha256').update(plain).digest('base64url')}"`;
  return { plain, br: await toBrotli(plain, { params }), gzip: await toGzip(plain), etag };
}

interface Sending {
  type: string;
  status?: number;
  /** The header Cache-Control. */
  caching?: string;
}

/** Sends a text, compressed if the client accepts it. */
export function sendText(
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  text: Text,
  { type, status = 200, caching = 'no-cache' }: Sending,
): FastifyReply {
  const coding = codingOf(request);
  if (coding) reply.header('content-encoding', coding);
  const isKnown = status === 200 && request.headers['if-none-match'] === text.etag;
  return reply
    .code(isKnown ? 304 : status)
    .headers({ 'cache-control': caching, vary: 'accept-encoding', etag: text.etag })
    .type(type)
    .send(isKnown ? undefined : text[coding ?? 'plain']);
}

function codingOf({ headers }: FastifyRequest): 'br' | 'gzip' | undefined {
  const accepted = String(headers['accept-encoding'] ?? '');
  if (/\bbr\b/.test(accepted)) return 'br';
  return /\bgzip\b/.test(accepted) ? 'gzip' : undefined;
}
