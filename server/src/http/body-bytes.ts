import type { FastifyInstance, FastifyRequest } from 'fastify';

export interface BodyReading {
  /** A larger body is refused with 413. */
  limitBytes: number;
  /** Makes `request.body` of the bytes. */
  parse(bytes: Buffer, request: FastifyRequest): unknown;
}

/**
 * Reads the bodies of a plugin's routes as bytes, whatever the content type claims. So the size is
 * checked first: Fastify itself refuses a malformed content type before it looks at the size.
 */
export function readBodiesAsBytes(app: FastifyInstance, { limitBytes, parse }: BodyReading): void {
  app.removeAllContentTypeParsers();
  app.addHook('onRequest', async (request) => {
    if (!request.mediaType) delete request.raw.headers['content-type'];
  });
  app.addContentTypeParser(
    '*',
    { parseAs: 'buffer', bodyLimit: limitBytes },
    async (request: FastifyRequest, bytes: Buffer) => parse(bytes, request),
  );
}
