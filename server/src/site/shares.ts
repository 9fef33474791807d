import { escapeHtml } from 'console/build.ts';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { type Brand, type BrandDeps, videosOf } from '../brand/brand.ts';
import { ApiError, invalidRequest } from '../kernel/errors.ts';
import { TEST_SURFACE } from '../ledger/transfer.ts';
import { noSuchPath } from '../requests/errors.ts';
import { limitSchema } from '../requests/routes.ts';
import { endShare, listShares, makeShare, type Share, type Shares } from '../shares/shares.ts';
import type { Links } from '../storage/links.ts';
import { readOwned } from '../tasks/task.ts';
import { linksHtml, logoHtml, type TextDeps, type Texts } from './pages/texts.ts';
import { type PageDeps, siteRoute } from './route.ts';
import { noVideo } from './tasks/gallery.ts';

export interface ShareDeps extends PageDeps {
  links: Links;
  /** undefined: sharing is off (SHARES). */
  shares: Shares | undefined;
}

function requireSharing({ shares }: ShareDeps): void {
  if (!shares) throw noSuchPath();
}

function shownShare(share: Share, { links, publicUrl }: ShareDeps) {
  const token = links.shareToken(share.id);
  return { ...share, url: `${publicUrl()}/s/${token}`, embed_url: `${publicUrl()}/embed/${token}` };
}

const LIMIT = 24;

/** The account's shares, also those that have ended. */
const listOwnShares = siteRoute('GET /console/api/shares', {
  query: Type.Object({
    task: Type.Optional(Type.String({ maxLength: 120 })),
    cursor: Type.Optional(Type.String({ maxLength: 120 })),
    limit: limitSchema(),
  }),
  async handle(deps: ShareDeps, { query, session: { accountId } }) {
    requireSharing(deps);
    const { task = null, cursor = '', limit = LIMIT } = query;
    const rows = await listShares(deps.db, accountId, task, cursor || null, limit + 1);
    const items = rows.slice(0, limit).map(({ prompt, is_open, ...share }) => {
      return { ...shownShare(share, deps), prompt, is_open };
    });
    return { items, next: rows.length > limit ? (items.at(-1)?.id ?? null) : null };
  },
});

const MAX_DAYS = 365;

const shareTask = siteRoute('PUT /console/api/tasks/:id/share', {
  body: Type.Object({
    shows_prompt: Type.Boolean(),
    /** null: until its owner ends it. */
    days: Type.Union([Type.Integer({ minimum: 1, maximum: MAX_DAYS }), Type.Null()]),
  }),
  async handle(deps: ShareDeps, { body, params: { id }, session: { accountId } }) {
    requireSharing(deps);
    const { shows_prompt: showsPrompt, days } = body;
    const share = await makeShare(deps.db, { accountId, taskId: id, showsPrompt, days });
    if (share) return shownShare(share, deps);
    const task = await readOwned(deps.db, id, accountId, null);
    if (!task) throw noVideo();
    const isTest = task.surface === TEST_SURFACE;
    throw invalidRequest(
      isTest
        ? 'Test videos can’t be shared.'
        : 'There is no video to share: it is not made yet, or was deleted.',
      { field: 'id', reason: isTest ? 'test_video' : 'no_video' },
    );
  },
});

const endOwnShare = siteRoute('DELETE /console/api/shares/:id', {
  async handle(deps: ShareDeps, { params: { id }, session: { accountId } }) {
    requireSharing(deps);
    if (await endShare(deps.db, id, accountId)) return {};
    throw new ApiError('not_found', 'This share has ended already.');
  },
});

/** The shared videos that the operator chose as examples (BRAND_VIDEOS) and that show a prompt. */
const listExamples = siteRoute('GET /console/api/examples', {
  async handle({ brand, shares }: BrandDeps & ShareDeps) {
    const pages = videosOf(brand.current());
    const found = await Promise.all(
      pages.map(async (page) => ({ page, share: await shares?.find(page.replace('/s/', '')) })),
    );
    const items = found.flatMap(({ page, share }) =>
      share?.prompt ? [{ page, prompt: share.prompt }] : [],
    );
    return { items, next: null };
  },
});

export const SHARE_ROUTES = [listOwnShares, shareTask, endOwnShare, listExamples];

type OpenShare = NonNullable<Awaited<ReturnType<Shares['find']>>>;

interface SharePagesDeps extends TextDeps {
  texts: Texts;
  shares: Shares | undefined;
  /** The headers of a page that any site may put into a frame. */
  embedHeaders: Record<string, string>;
}

interface Content {
  title: string;
  /** More HTML for the head. */
  head?: string;
  main: string;
}

interface View {
  url: `/${string}/:token`;
  headers: Record<string, string>;
  /** The scripts of the template that it does not need. */
  unused: RegExp;
  contentOf(share: OpenShare, name: string, address: string): Content;
  bodyOf(main: string): string;
}

/**
 * The page of a shared video, and a bare player for frames of other sites. They need no script, set
 * no cookie and say nothing of the account.
 */
export function sharePages(app: FastifyInstance, deps: SharePagesDeps): void {
  const serve = (view: View) => {
    const send = async (reply: FastifyReply, status: number, content: Content) => {
      reply.code(status).headers({ ...view.headers, 'x-robots-tag': 'noindex' });
      return reply.type('text/html; charset=utf-8').send(await htmlOf(deps, view, content));
    };
    app.get<Shared>(view.url, { schema: { hide: true } }, async (request, reply) => {
      const { token } = request.params;
      const share = await deps.shares?.find(token);
      if (!share) return send(reply, 404, NOT_SHARED);
      if (share.isOverLimit) {
        return send(reply.header('retry-after', share.seconds_left), 429, TOO_OFTEN);
      }
      if (request.method === 'GET') deps.shares?.countView(share.id);
      const address = `${deps.publicUrl()}/s/${token}`;
      return send(reply, 200, view.contentOf(share, deps.brand.current().name, address));
    });
  };
  serve({
    url: '/s/:token',
    headers: {},
    unused: /<script type="module"[^>]*><\/script>/,
    contentOf: pageContent,
    bodyOf: (main) => pageBody(main, deps.brand.current()),
  });
  serve({
    url: '/embed/:token',
    headers: deps.embedHeaders,
    unused: /<script[^>]*><\/script>/g,
    contentOf: embedContent,
    bodyOf: (main) => `<main class="embed">${main}</main>`,
  });
}

interface Shared {
  Params: { token: string };
}

const NOT_SHARED = notice('This video is not shared', 'The link is wrong, or the share has ended.');
const TOO_OFTEN = notice(
  'This video was watched too often today',
  'It can be watched again after midnight (UTC).',
);

function notice(title: string, text: string): Content {
  return { title, main: `<h1>${title}</h1><p>${text}</p>` };
}

/** The docs' frame, with the content of a share. */
async function htmlOf(
  { texts }: SharePagesDeps,
  { unused, bodyOf }: View,
  { title, head = '', main }: Content,
): Promise<string> {
  const frame = await texts.plain('docs.html');
  const noindex = '<meta name="robots" content="noindex" />';
  return frame
    .replace(unused, '')
    .replace(/<meta property="og:image"[^>]*>/, '') // the logo
    .replace(/<title>.*<\/title>/, () => `<title>${escapeHtml(title)}</title>${noindex}${head}`)
    .replace('<!-- page -->', () => bodyOf(main));
}

function pageBody(main: string, brand: Brand): string {
  return `<header class="docs-header">
    <div><a class="docs-brand" href="/">${logoHtml(brand)}</a></div><div class="ruler"></div>
  </header>
  <div class="share">
    <main class="docs-text">${main}</main>
    <footer class="docs-footer">${linksHtml(brand)}</footer>
  </div>`;
}

function pageContent(share: OpenShare, name: string, address: string): Content {
  const { prompt } = share;
  const title = prompt === null ? 'A shared video' : shortened(prompt);
  const main = `<h1>A video made with ${escapeHtml(name)}</h1>
    <div class="cropped">${player(share, address)}</div>
    ${prompt === null ? '' : `<p class="share-prompt">${escapeHtml(prompt)}</p>`}
    <p><a href="/report?video=${encodeURIComponent(address)}">Report this video</a></p>`;
  return { title, main, head: previewTags(share, title, address) };
}

function embedContent(share: OpenShare, name: string, address: string): Content {
  const link = `<a href="${address}" target="_blank" rel="noopener">${escapeHtml(name)}</a>`;
  return {
    title: 'A shared video',
    main: `<h1 class="sr-only">A shared video</h1>${player(share, address)}${link}`,
  };
}

/** The player's URLs are relative: the page's policy allows files of its own host. */
function player({ width, height, files }: OpenShare, address: string): string {
  const { pathname } = new URL(address);
  const poster = files.some(({ role }) => role === 'poster') && `poster="${pathname}/poster.webp"`;
  const shape = height > width && 'class="is-tall"';
  return `<video ${shape || ''} controls playsinline preload="${poster ? 'none' : 'metadata'}" ${poster || ''}
    src="${pathname}/video.mp4" width="${width}" height="${height}"
    aria-label="The shared video"></video>`;
}

/** From these, other programs make the preview of a link to the page. */
function previewTags(share: OpenShare, title: string, address: string): string {
  const { prompt, width, height, files } = share;
  const hasPoster = files.some(({ role }) => role === 'poster');
  const poster = hasPoster ? `${address}/poster.webp` : undefined;
  const tags = {
    'og:type': 'video.other',
    'og:title': title,
    'og:description': prompt ?? undefined,
    'og:url': address,
    'og:image': poster,
    'og:video': `${address}/video.mp4`,
    'og:video:type': 'video/mp4',
    'og:video:width': width,
    'og:video:height': height,
    'twitter:card': 'player',
    'twitter:title': title,
    'twitter:image': poster,
    'twitter:player': address.replace('/s/', '/embed/'),
    'twitter:player:width': width,
    'twitter:player:height': height,
  };
  return Object.entries(tags)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => {
      const attribute = name.startsWith('og:') ? 'property' : 'name';
      return `<meta ${attribute}="${name}" content="${escapeHtml(String(value))}" />`;
    })
    .join('');
}

const TITLE_CHARACTERS = 70;

function shortened(text: string): string {
  const characters = [...text.replaceAll(/\s+/g, ' ').trim()];
  if (characters.length <= TITLE_CHARACTERS) return characters.join('');
  return `${characters.slice(0, TITLE_CHARACTERS - 1).join('')}…`;
}
