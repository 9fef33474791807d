import type { FastifyInstance } from 'fastify';

/**
 * Collects the methods of the routes that are registered from now on. Those of the console are left
 * out: only operators may know that theirs exist.
 * @returns the `Allow` header of a URL; undefined if its path has no route
 */
export function collectMethods(app: FastifyInstance): (url: string) => string | undefined {
  const routes = new Map<string, { path: RegExp; methods: string[] }>();
  app.addHook('onRoute', ({ url, method, config }) => {
    if (url.startsWith('/console/') || config?.access === 'operator') return;
    const route = routes.get(url) ?? { path: patternOf(url), methods: [] };
    route.methods.push(...[method].flat());
    routes.set(url, route);
  });
  return (url) => {
    const [path = ''] = url.replace(/^https?:\/\/[^/]*/i, '').split('?');
    const fitting = [...routes.values()].filter((route) => route.path.test(path));
    const methods = new Set(fitting.flatMap((route) => route.methods));
    return methods.size === 0 ? undefined : [...methods].sort().join(', ');
  };
}

/** The paths of a route such as `/tasks/:id` or `/docs/*`. */
function patternOf(url: string): RegExp {
  const parts = url.split(/(:\w+|\*)/).map((part) => {
    if (part === '*') return '.*';
    return part.startsWith(':') ? '[^/]*' : RegExp.escape(part);
  });
  return new RegExp(`^${parts.join('')}$`);
}
