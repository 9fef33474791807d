import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../kernel/errors.ts';
import type { DocsDeps } from './docs.ts';
import { forInstallation } from './docs.ts';
import type { KeptPackages } from './kept-packages.ts';

export interface PackagesDeps extends DocsDeps {
  packages: KeptPackages;
}

type Row = Awaited<ReturnType<KeptPackages['list']>>[number];

/** What docs/guides/packages.md has in place of the list. */
const LIST = '<div id="packages"></div>';

/** GET of the files that customers install, and of the page that lists them. */
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
    if (!found) throw await noSuchFile(deps.packages);
    const etag = `"${found.sha256}"`;
    reply.headers({ etag, 'cache-control': 'public, max-age=31536000, immutable' });
    if (request.headers['if-none-match']?.includes(etag)) return reply.code(304).send();
    // A wheel is a ZIP archive.
    return reply
      .type(found.name.endsWith('.whl') ? 'application/zip' : 'application/gzip')
      .send(found.bytes);
  });
}

async function noSuchFile(packages: KeptPackages): Promise<ApiError> {
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
    const written = await readFile(path.join(deps.folder, file), 'utf8');
    const table = tableOf(await deps.packages.list(), deps.publicUrl());
    return reply
      .header('cache-control', 'no-cache')
      .type(`text/${type}; charset=utf-8`)
      .send(forInstallation(written, deps).replace(LIST, () => table));
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
