import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { escapeHtml, fill, UNBRANDED } from 'console/build.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Brand, BrandDeps } from '../../brand/brand.ts';
import { compressed, sendText, type Text } from '../../requests/routes.ts';
import { pageBrand, shownLogo } from './page-brand.ts';

export interface TextDeps extends BrandDeps {
  /** The build's folder, with `index.html`, and `assets/` with hashed names. */
  folder: string;
  publicUrl(): string;
  /** Where the docs can be edited; undefined: no edit links. */
  docsEditUrl?: string | undefined;
  /** Whether new tasks go to the built-in renderer: pages then show one of its test patterns. */
  showsTestPatterns: boolean;
}

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.xml': 'application/xml; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
};

/** Errors that mean "no such file"; the last is for a name that is too long. */
const NO_FILE = new Set<unknown>(['ENOENT', 'EISDIR', 'ENOTDIR', 'ENAMETOOLONG']);

export type Texts = ReturnType<typeof openTexts>;

/** The build's texts as this installation sends them, each made once per brand. */
export function openTexts(deps: TextDeps) {
  let made = { brand: deps.brand.current(), texts: new Map<string, Promise<Text>>() };
  const load = async (file: string): Promise<Text> => {
    const written = await readFile(path.join(deps.folder, file), 'utf8');
    return compressed(forInstallation(written, file, deps));
  };
  const read = (file: string): Promise<Text | undefined> => {
    const brand = deps.brand.current();
    if (made.brand !== brand) made = { brand, texts: new Map() };
    const { texts } = made;
    const text = texts.get(file) ?? load(file);
    texts.set(file, text);
    return text.catch((error: NodeJS.ErrnoException) => {
      texts.delete(file);
      if (NO_FILE.has(error.code)) return undefined;
      throw error;
    });
  };
  /** Sends a file, compressed if the client accepts it. @returns false if there is none */
  const send = async (
    exchange: { request: FastifyRequest; reply: FastifyReply },
    file: string,
    status = 200,
  ): Promise<boolean> => {
    const text = await read(file);
    if (!text) return false;
    sendText(exchange, text, { type: TYPES[path.extname(file)] ?? 'text/plain', status });
    return true;
  };
  /** A file's text, to fill in more. @throws Error if there is none */
  const plain = async (file: string): Promise<string> => {
    const text = await read(file);
    if (!text) throw new Error(`the build has no ${file}`);
    return text.plain.toString();
  };
  return { send, plain };
}

/** Fills what is particular to this installation into a built text. */
function forInstallation(text: string, file: string, deps: TextDeps): string {
  const { docsEditUrl, publicUrl } = deps;
  const brand = deps.brand.current();
  return fill(text, file, {
    origin: publicUrl(),
    name: brand.name,
    accent: brand.color ?? UNBRANDED.accent,
    head: headOf(deps),
    logo: logoHtml(brand),
    links: linksHtml(brand),
    editLink: (source) =>
      docsEditUrl === undefined ? '' : `<a href="${docsEditUrl}/${source}">Edit this page</a>`,
  });
}

function headOf({ brand, publicUrl, showsTestPatterns }: TextDeps): string {
  const facts = pageBrand(brand.current(), showsTestPatterns);
  const { name, logo } = facts;
  const image =
    logo && `<meta property="og:image" content="${escapeHtml(publicUrl() + logo.url)}" />`;
  return [
    `<meta name="brand" content="${escapeHtml(JSON.stringify(facts))}" />`,
    `<meta property="og:site_name" content="${escapeHtml(name)}" />`,
    image ?? '',
    logo?.is_icon ? `<link rel="icon" href="${logo.url}" />` : UNBRANDED.head,
  ].join('');
}

/** Only an icon needs the name beside it: other logos contain the name. */
export function logoHtml(brand: Brand): string {
  const name = escapeHtml(brand.name);
  const { url, width, height, is_icon: isIcon } = shownLogo(brand) ?? {};
  if (url === undefined) return `<span>${name}</span>`;
  const size = `width="${width}" height="${height}"`;
  const image = `<img src="${url}" ${size} alt="${isIcon ? '' : name}" />`;
  return isIcon ? `${image}<span>${name}</span>` : image;
}

export function linksHtml({ terms_url, privacy_url, imprint_url, support_email }: Brand): string {
  const links = {
    Terms: terms_url,
    Privacy: privacy_url,
    Imprint: imprint_url,
    Support: support_email && `mailto:${support_email}`,
  };
  return Object.entries(links)
    .map(([words, url]) => (url ? `<a href="${escapeHtml(url)}">${words}</a>` : ''))
    .join('');
}
