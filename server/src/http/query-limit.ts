import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type TSchemaOptions, Type } from 'typebox';

/** Of a query: how many entries of a list to send. */
export function limitSchema(options: TSchemaOptions = {}) {
  return Type.Optional(Type.Integer({ minimum: 1, maximum: 100, ...options }));
}

/** Reads the `limit` of each query whose schema has one: a query has texts, the schema a number. */
export function readLimits(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const { properties } = Object(route.schema?.querystring);
    if (properties?.limit) route.preValidation = readLimit;
  });
}

async function readLimit({ query }: FastifyRequest): Promise<void> {
  const given = query as { limit?: unknown };
  if (typeof given.limit === 'string' && /^-?\d+$/.test(given.limit)) {
    given.limit = Number(given.limit);
  }
}
