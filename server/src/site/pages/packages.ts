import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Database, statement } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import { evictOldest } from '../../kernel/evict-oldest.ts';
import type { Log } from '../../kernel/log.ts';
import { FOR_EVER } from './page-brand.ts';
import type { TextDeps, Texts } from './texts.ts';

interface Package {
  name: string;
  sha256: string;
  bytes: Buffer;
}

type Row = Omit<Package, 'bytes'>;

interface Deps {
  db: Database;
  log: Log;
  folder: string;
}

const LIST = statement(
  'client_packages_list',
  `select name, sha256 from client_packages
   order by string_to_array(substring(name from '\\d+\\.\\d+\\.\\d+'), '.')::int[] desc, name`,
);
const READ = statement(
  'client_packages_read',
  'select name, sha256, bytes from client_packages where name = $1',
);
const KEEP = statement(
  'client_packages_keep',
  `insert into client_packages (name, sha256, bytes) values ($1, $2, $3)
   on conflict (name) do nothing`,
);

/** How long a process trusts its list, so that unknown names don't cost a query each. */
const LISTED_MS = 1000;
/** How many packages a process keeps in memory: two versions. */
const MAX_FILES = 12;

/**
 * The packages that customers install, of every version this installation has served: the database
 * keeps them when a newer build replaces the files in `folder`.
 */
export function openStoredPackages({ db, log, folder }: Deps) {
  const files = new Map<string, Package>();
  let stored: Promise<void> | undefined;
  let listed: { at: number; rows: Promise<Row[]> } | undefined;
  /** Stores the build's packages once; after a failure it tries again. */
  const storeBuild = () => {
    stored ??= storePackages({ db, log, folder });
    return stored.catch((error) => {
      stored = undefined;
      throw error;
    });
  };
  /** Every package this installation has served, newest version first. */
  const list = async () => {
    await storeBuild();
    if (!listed || performance.now() - listed.at > LISTED_MS) {
      const rows = db.query<Row>(LIST);
      listed = { at: performance.now(), rows };
      rows.catch(() => {
        listed = undefined;
      });
    }
    return listed.rows;
  };
  return {
    storeBuild,
    list,
    async read(name: string): Promise<Package | undefined> {
      const known = files.get(name);
      if (known) return known;
      if (!(await list()).some((file) => file.name === name)) return undefined;
      const [found] = await db.query<Package>(READ, [name]);
      evictOldest(files, MAX_FILES);
      if (found) files.set(name, found);
      return found;
    },
  };
}

/** Stores the build's packages. A stored file is never replaced by another of the same name. */
async function storePackages({ db, log, folder }: Deps): Promise<void> {
  const built = await Promise.all((await readdir(folder)).map((name) => readPackage(folder, name)));
  for (const { name, sha256, bytes } of built) await db.query(KEEP, [name, sha256, bytes]);
  const rows = await db.query<Row>(LIST);
  const digests = new Map(rows.map(({ name, sha256 }) => [name, sha256]));
  const changed = built.filter(({ name, sha256 }) => digests.get(name) !== sha256);
  if (changed.length === 0) return;
  const packages = changed.map(({ name }) => name);
  log.warn(
    { packages },
    'the build changed packages already served under these names: the old files stay',
  );
}

async function readPackage(folder: string, name: string): Promise<Package> {
  const bytes = await readFile(path.join(folder, name));
  return { name, bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
}

interface PackagesDeps extends Pick<TextDeps, 'publicUrl'> {
  texts: Texts;
  packages: ReturnType<typeof openStoredPackages>;
}

/** The placeholder for the list in docs/customers/packages.md. */
const PLACE = '<div id="packages"></div>';

/** Serves the packages, and the page that lists them. */
export function packageRoutes(app: FastifyInstance, deps: PackagesDeps): void {
  const schema = { hide: true };
  const page = pageSender(deps, {
    file: 'docs/packages/index.html',
    type: 'html',
    tableOf: htmlTable,
  });
  for (const url of ['/packages', '/packages/', '/docs/packages', '/docs/packages/']) {
    app.get(url, { schema }, page);
  }
  app.get(
    '/docs/packages.md',
    { schema },
    pageSender(deps, { file: 'docs/packages.md', type: 'markdown', tableOf: markdownTable }),
  );
  app.get<{ Params: { name: string } }>('/packages/:name', { schema }, async (request, reply) => {
    const found = await deps.packages.read(request.params.name);
    if (!found) throw await noSuchFile(deps);
    const etag = `"${found.sha256}"`;
    reply.headers({ etag, 'cache-control': FOR_EVER });
    if (request.headers['if-none-match']?.includes(etag)) return reply.code(304).send();
    // A wheel is a ZIP archive.
    return reply
      .type(found.name.endsWith('.whl') ? 'application/zip' : 'application/gzip')
      .send(found.bytes);
  });
}

async function noSuchFile({ packages }: PackagesDeps): Promise<ApiError> {
  const names = (await packages.list()).map(({ name }) => name);
  return new ApiError('not_found', `There is no such file. There are: ${names.join(', ')}.`);
}

interface Page {
  file: string;
  type: 'html' | 'markdown';
  tableOf(rows: Row[], origin: string): string;
}

function pageSender(deps: PackagesDeps, { file, type, tableOf }: Page) {
  return async (_request: FastifyRequest, reply: FastifyReply) => {
    const written = await deps.texts.plain(file);
    const table = tableOf(await deps.packages.list(), deps.publicUrl());
    return reply
      .header('cache-control', 'no-cache')
      .type(`text/${type}; charset=utf-8`)
      .send(written.replace(PLACE, () => table));
  };
}

function htmlTable(rows: Row[]): string {
  const lines = rows.map(
    ({ name, sha256 }) =>
      `<tr><td class="is-long"><a href="/packages/${name}">${name}</a></td>` +
      `<td data-label="SHA-256"><span><code>${sha256}</code></span></td></tr>`,
  );
  return `<div class="docs-table is-wide" role="group" aria-label="Table" tabindex="0"><table>
<thead><tr><th>File</th><th>SHA-256</th></tr></thead>
<tbody>${lines.join('\n')}</tbody></table></div>`;
}

function markdownTable(rows: Row[], origin: string): string {
  const lines = rows.map(
    ({ name, sha256 }) => `| [${name}](${origin}/packages/${name}) | \`${sha256}\` |`,
  );
  return ['| File | SHA-256 |', '|---|---|', ...lines].join('\n');
}
