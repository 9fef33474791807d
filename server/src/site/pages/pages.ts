import path from 'node:path';
import fastifyStatic from '@fastify/static';
import { PACKAGES } from 'console/build.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../../kernel/log.ts';
import { DOCS_FILES, type DocsDeps, docsRoutes } from './docs.ts';
import { openKeptPackages, packageRoutes } from './packages.ts';

/** Where the pages may load from, apart from their own origin. */
export interface PageOrigins {
  /** Where videos and posters come from: the public URL, and the storage that links lead to. */
  media: string[];
  /** Whether browsers reach the service by https. */
  isSecure: boolean;
}

/**
 * The security headers of the pages. Nothing is inlined and nothing comes from another host, except
 * videos and posters; `blob:` shows files that the reader has just chosen.
 */
export function pageHeaders({ media, isSecure }: PageOrigins): Record<string, string> {
  const files = ["'self'", 'blob:', ...media].join(' ');
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "font-src 'self'",
    "connect-src 'self'",
    `img-src ${files}`,
    `media-src ${files}`,
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ];
  return {
    'content-security-policy': policy.join('; '),
    'referrer-policy': 'strict-origin-when-cross-origin',
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    ...(isSecure && { 'strict-transport-security': 'max-age=31536000' }),
  };
}

/** The paths of the pages, as the router reads them. console/src/routes.ts has the same ones. */
export const PAGE_PATHS = [
  '/',
  '/pricing',
  '/sign-in',
  '/playground',
  '/videos',
  '/videos/:id',
  '/usage',
  '/keys',
  '/webhooks',
  '/webhooks/:id',
  '/credits',
  '/settings',
  '/operator',
  '/operator/*',
];

const FILES = 'packages|assets|openapi\\.json';
/** Paths below these are no pages: what is unknown there gets the error envelope. */
const APIS = new RegExp(
  `^/(api|auth|console|callbacks|media|webhooks|docs|mcp|healthz|readyz|${FILES})(/|$)`,
);

/** Whether an unknown path gets the page for 404: a browser opened it. */
export function isPageRequest({ method, url, headers }: FastifyRequest): boolean {
  const isRead = method === 'GET' || method === 'HEAD';
  const [path = ''] = url.split('?');
  return isRead && headers.accept?.includes('text/html') === true && !APIS.test(path);
}

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
