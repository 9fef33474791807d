import { type TSchemaOptions, Type } from 'typebox';

/** The method and the path of a route, such as `GET /tasks/:id`. */
export type RouteName = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`;

/** The method and the path, as Fastify takes them. */
export function methodAndUrl(name: RouteName) {
  const [method = '', url = ''] = name.split(' ');
  return { method: method as 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', url };
}

/** Of a query: how many entries of a list to send. */
export function limitSchema(options: TSchemaOptions = {}) {
  return Type.Optional(Type.Integer({ minimum: 1, maximum: 100, ...options }));
}
