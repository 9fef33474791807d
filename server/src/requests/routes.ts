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
