import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { DOCS_ORIGIN } from 'console/build.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../kernel/errors.ts';
import { noSuchPath } from '../../requests/errors.ts';
import { type GuardDeps, guard } from '../guard.ts';

const FIRST_PAGE = { guides: '/docs/quickstart', operations: '/docs/operations/overview' };
const NOT_FOUND = 'docs/404.html';
const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.xml': 'application/xml; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
};

export interface DocsDeps extends GuardDeps {
  /** The folder of the built pages. */
  folder: string;
  /** Where the pages can be edited; undefined: no edit links. */
  docsEditUrl?: string | undefined;
}

/** Files of the build that are served here instead of statically. */
export const DOCS_FILES = ['docs/**', 'docs.html*', 'llms.txt*', 'llms-full.txt*'];

/**
 * Serves the docs: guides to everyone, operators' pages to signed-in operators. The installation's
 * URL is filled into every text.
 */
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

/** Errors that mean "no such file"; the last is for a name that is too long. */
const NO_FILE = new Set<unknown>(['ENOENT', 'EISDIR', 'ENOTDIR', 'ENAMETOOLONG']);

const toBrotli = promisify(brotliCompress);
const toGzip = promisify(gzip);

/** A handler that sends the file for a request's path, reading each file once. */
function sender(deps: DocsDeps) {
  const load = async (file: string) => {
    const written = await readFile(path.join(deps.folder, file), 'utf8');
    const plain = Buffer.from(forInstallation(written, deps));
    const params = { [constants.BROTLI_PARAM_QUALITY]: 5 };
    return { plain, br: await toBrotli(plain, { params }), gzip: await toGzip(plain) };
  };
  const texts = new Map<string, ReturnType<typeof load>>();
  const read = (file: string) => {
    const text = texts.get(file) ?? load(file);
    texts.set(file, text);
    return text.catch((error: NodeJS.ErrnoException) => {
      texts.delete(file);
      if (NO_FILE.has(error.code)) return undefined;
      throw error;
    });
  };
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const file = fileOf(request.url);
    const found = file && (await read(file));
    const isBrowser = request.headers.accept?.includes('text/html');
    const text = found || (isBrowser && (await read(NOT_FOUND)));
    if (!text) throw noSuchPath();
    const { plain, ...compressed } = text;
    const coding = codingOf(request);
    if (coding) reply.header('content-encoding', coding);
    return reply
      .code(found ? 200 : 404)
      .headers({ 'cache-control': 'no-cache', vary: 'accept-encoding' })
      .type(TYPES[path.extname((found && file) || NOT_FOUND)] ?? 'text/plain')
      .send(coding ? compressed[coding] : plain);
  };
}

/** Fills the installation's URL and the edit link into a built text. */
export function forInstallation(text: string, { publicUrl, docsEditUrl }: DocsDeps): string {
  const editLink = (_mark: string, file: string) =>
    docsEditUrl === undefined ? '' : `<a href="${docsEditUrl}/${file}">Edit this page</a>`;
  return text.replaceAll(DOCS_ORIGIN, publicUrl()).replace(/<!-- edit (\S+) -->/, editLink);
}

function fileOf(url: string): string | undefined {
  const [address = ''] = url.split('?');
  const plain = address.replace(/\/$/, '').slice(1);
  if (!/^[a-zA-Z0-9_-]+(\/[a-zA-Z0-9_-]+)*(\.(md|txt|xml|json))?$/.test(plain)) return undefined;
  return path.extname(plain) ? plain : `${plain}/index.html`;
}

function codingOf({ headers }: FastifyRequest): 'br' | 'gzip' | undefined {
  const accepted = String(headers['accept-encoding'] ?? '');
  if (/\bbr\b/.test(accepted)) return 'br';
  return /\bgzip\b/.test(accepted) ? 'gzip' : undefined;
}
