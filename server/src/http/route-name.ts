/** The method and the path of a route, such as `GET /tasks/:id`. */
export type RouteName = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`;

/** The method and the path, as Fastify takes them. */
export function methodAndUrl(name: RouteName) {
  const [method = '', url = ''] = name.split(' ');
  return { method: method as 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', url };
}
