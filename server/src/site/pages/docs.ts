import path from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../kernel/errors.ts';
import { noSuchPath } from '../../requests/errors.ts';
import { type GuardDeps, guard } from '../guard.ts';
import type { Texts } from './texts.ts';

const FIRST_PAGE = { guides: '/docs/quickstart', operations: '/docs/operations/overview' };
const NOT_FOUND = 'docs/404.html';

export interface DocsDeps extends GuardDeps {
  texts: Texts;
}

/** Files of the build that are served here instead of statically. */
export const DOCS_FILES = ['docs/**', 'docs.html', 'llms.txt', 'llms-full.txt'];

/** Serves the docs: guides to everyone, operators' pages to signed-in operators. */
export function docsRoutes(app: FastifyInstance, deps: DocsDeps): void {
  const send = sender(deps);
  const schema = { hide: true };
  for (const url of ['/docs', '/docs/']) {
    app.get(url, { schema }, (_request, reply) => reply.redirect(FIRST_PAGE.guides));
  }
  app.get('/llms.txt', { schema }, send);
  app.get('/llms-full.txt', { schema }, send);
  app.get('/docs/*', { schema }, send);
  app.register((scope, _options, done) => {
    guard(scope, deps);
    scope.setErrorHandler((error, request, reply) => {
      if (error instanceof ApiError && error.code === 'unauthorized') {
        return reply.redirect(`/sign-in?next=${encodeURIComponent(request.url)}`);
      }
      throw error;
    });
    const operator = { schema, config: { access: 'operator' as const } };
    scope.get('/docs/operations', operator, (_request, reply) =>
      reply.redirect(FIRST_PAGE.operations),
    );
    scope.get('/docs/operations/*', operator, send);
    done();
  });
}

/** A handler that sends the file for a request's path. */
function sender({ texts }: DocsDeps) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const file = fileOf(request.url);
    if (file && (await texts.send({ request, reply }, file))) return reply;
    const isBrowser = request.headers.accept?.includes('text/html');
    if (isBrowser && (await texts.send({ request, reply }, NOT_FOUND, 404))) return reply;
    throw noSuchPath();
  };
}

function fileOf(url: string): string | undefined {
  const [address = ''] = url.split('?');
  const plain = address.replace(/\/$/, '').slice(1);
  if (!/^[a-zA-Z0-9_-]+(\/[a-zA-Z0-9_-]+)*(\.(md|txt|xml|json))?$/.test(plain)) return undefined;
  return path.extname(plain) ? plain : `${plain}/index.html`;
}
