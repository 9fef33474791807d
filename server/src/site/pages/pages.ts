import path from 'node:path';
import fastifyStatic from '@fastify/static';
import { PACKAGES } from 'console/build.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../../kernel/log.ts';
import type { Shares } from '../../shares/shares.ts';
import type { GuardDeps } from '../guard.ts';
import { sharePages } from '../shares.ts';
import { DOCS_FILES, docsRoutes } from './docs.ts';
import { openStoredPackages, packageRoutes } from './packages.ts';
import { FOR_EVER, logoRoute } from './page-brand.ts';
import { openTexts, type TextDeps } from './texts.ts';

/** Origins other than their own that pages may load from. */
export interface PageOrigins {
  /** Origins of videos and posters: the public URL, and the storage behind redirects. */
  media: string[];
  /** Whether the public URL is https. */
  isSecure: boolean;
}

/**
 * The pages' security headers. Nothing is inlined, and only videos and posters come from other
 * hosts; `blob:` previews files that the user has just chosen.
 */
function pageHeaders(
  { media, isSecure }: PageOrigins,
  framedBy = "'none'",
): Record<string, string> {
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
    `frame-ancestors ${framedBy}`,
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

/** The pages' paths, for the router. Must match console/src/routes.ts. */
export const PAGE_PATHS = [
  '/',
  '/pricing',
  '/status',
  '/verify',
  '/report',
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

const FILES = 'packages|assets|brand|openapi\\.json';
/** Unknown paths below these get the error envelope, not the 404 page. */
const NO_PAGES_BELOW = new RegExp(
  `^/(api|auth|console|callbacks|media|webhooks|docs|mcp|healthz|readyz|${FILES})(/|$)`,
);

/** Whether a browser opens an unknown path: app.ts then lets {@link pageRoutes} send a 404 page. */
export function isPageRequest({ method, url, headers }: FastifyRequest): boolean {
  const isRead = method === 'GET' || method === 'HEAD';
  const [path = ''] = url.split('?');
  return isRead && headers.accept?.includes('text/html') === true && !NO_PAGES_BELOW.test(path);
}

export interface PageRoutesDeps extends GuardDeps, TextDeps {
  log: Log;
  origins: PageOrigins;
  shares: Shares | undefined;
}

/** Files besides pages and docs that name the installation: `openTexts` fills them in. */
const TEXTS = ['favicon.svg', 'robots.txt'];

/**
 * Serves the pages and their assets, compressed if the browser accepts it. All pages are the file
 * index.html, revalidated each time; assets never change.
 */
export async function pageRoutes(app: FastifyInstance, deps: PageRoutesDeps): Promise<void> {
  const headers = pageHeaders(deps.origins);
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers(headers);
  });
  await app.register(fastifyStatic, {
    root: deps.folder,
    wildcard: false,
    index: false,
    preCompressed: true,
    globIgnore: ['index.html', ...TEXTS, '**/*.{br,gz}', `${PACKAGES}/**`, ...DOCS_FILES],
    cacheControl: false,
    setHeaders(reply, path) {
      reply.header('cache-control', path.includes('/assets/') ? FOR_EVER : 'no-cache');
    },
  });
  const texts = openTexts(deps);
  const send =
    (file: string, status?: number) => async (request: FastifyRequest, reply: FastifyReply) => {
      await texts.send({ request, reply }, file, status);
      return reply;
    };
  for (const url of PAGE_PATHS) app.get(url, send('index.html'));
  for (const file of TEXTS) app.get(`/${file}`, send(file));
  logoRoute(app, deps);
  docsRoutes(app, { ...deps, texts });
  sharePages(app, { ...deps, texts, embedHeaders: pageHeaders(deps.origins, '*') });
  const packages = openStoredPackages({ ...deps, folder: path.join(deps.folder, PACKAGES) });
  // If this fails, a request for the packages tries it again.
  await packages
    .storeBuild()
    .catch((err) => deps.log.error({ err }, 'the packages could not be stored'));
  packageRoutes(app, { ...deps, texts, packages });
  app.setNotFoundHandler(send('index.html', 404));
}
