import path from 'node:path';
import fastifyStatic from '@fastify/static';
import { PACKAGES } from 'console/build.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../../kernel/log.ts';
import { DOCS_FILES, type DocsDeps, docsRoutes } from './docs.ts';
import { type PageOrigins, pageHeaders } from './headers.ts';
import { openKeptPackages } from './kept-packages.ts';
import { packageRoutes } from './packages.ts';
import { isPageNavigation, PAGE_PATHS } from './page-paths.ts';

/** The folder of the built pages has `index.html`, and `assets/` with a hash in each name. */
export interface PagesDeps extends DocsDeps {
  log: Log;
  origins: PageOrigins;
}

const YEAR_SECONDS = 31_536_000;

/**
 * GET and HEAD of the pages and of their files, compressed where the browser takes it. Each page is
 * the same document, which is asked for again each time; the files beside it never change.
 */
export async function pageRoutes(app: FastifyInstance, deps: PagesDeps): Promise<void> {
  const headers = pageHeaders(deps.origins);
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers(headers);
  });
  await app.register(fastifyStatic, {
    root: deps.folder,
    wildcard: false,
    index: false,
    preCompressed: true,
    globIgnore: ['index.html*', '**/*.{br,gz}', `${PACKAGES}/**`, ...DOCS_FILES],
    cacheControl: false,
    setHeaders(reply, path) {
      const isHashed = path.includes('/assets/');
      const caching = isHashed ? `public, max-age=${YEAR_SECONDS}, immutable` : 'no-cache';
      reply.header('cache-control', caching);
    },
  });
  const handler = (_request: FastifyRequest, reply: FastifyReply) => reply.sendFile('index.html');
  for (const url of PAGE_PATHS) app.get(url, handler);
  docsRoutes(app, deps);
  const packages = openKeptPackages({ ...deps, folder: path.join(deps.folder, PACKAGES) });
  // A request tries again.
  await packages.keep().catch((err) => deps.log.error({ err }, 'the packages were not kept'));
  packageRoutes(app, { ...deps, packages });
  app.setNotFoundHandler((_request, reply) => reply.code(404).sendFile('index.html'));
}

/** Whether a request without a route gets the pages' own answer. */
export function isPageRequest({ method, url, headers }: FastifyRequest): boolean {
  return isPageNavigation({ method, url, accept: headers.accept });
}
