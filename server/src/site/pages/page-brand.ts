import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { type Brand, type BrandDeps, videosOf } from '../../brand/brand.ts';
import { accentTokens } from '../../brand/color.ts';
import { readLogo } from '../../brand/logo.ts';
import { noSuchPath } from '../../requests/errors.ts';

/** For files whose URL changes whenever they do. */
export const FOR_EVER = 'public, max-age=31536000, immutable';

export type PageBrand = ReturnType<typeof pageBrand>;

/** What a page knows of the brand before its first paint, in `<meta name="brand">`. */
export function pageBrand(brand: Brand, showsTestPatterns: boolean) {
  const { name, color, hero_text, support_email, terms_url, privacy_url, imprint_url } = brand;
  return {
    name,
    hero_text,
    /** The share page of the video that the home page shows. */
    hero_video: videosOf(brand)[0],
    support_email,
    terms_url,
    privacy_url,
    imprint_url,
    logo: shownLogo(brand),
    /** Values of the design tokens that the accent replaces. */
    tokens: color === undefined ? {} : accentTokens(color),
    /** Whether new tasks go to the built-in renderer, so that its sample may be shown. */
    shows_test_patterns: showsTestPatterns,
  };
}

const LOGO_PATH = '/brand/logo';

const shown = new WeakMap<Brand, ReturnType<typeof describeLogo>>();

/** The logo, whose image is read once for each value of the brand. */
export function shownLogo(brand: Brand) {
  if (!shown.has(brand)) shown.set(brand, describeLogo(brand));
  return shown.get(brand);
}

/** The logo's URL changes with its file, so that browsers may keep the file. */
function describeLogo({ logo }: Brand) {
  const read = logo === undefined ? undefined : readLogo(logo);
  if (!read) return undefined;
  const { bytes, width, height } = read;
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 16);
  return {
    url: `${LOGO_PATH}?v=${hash}`,
    width,
    height,
    /** Whether it fits beside the name and into a tab; any other logo stands for the name. */
    is_icon: width <= 1.5 * height && height <= 1.5 * width,
  };
}

export function logoRoute(app: FastifyInstance, { brand }: BrandDeps): void {
  app.get(LOGO_PATH, { schema: { hide: true } }, (request, reply) => {
    const { logo = '' } = brand.current();
    const file = readLogo(logo);
    if (!file) throw noSuchPath();
    const isVersioned = request.url === shownLogo(brand.current())?.url;
    return reply
      .header('cache-control', isVersioned ? FOR_EVER : 'no-cache')
      .type(file.mediaType)
      .send(file.bytes);
  });
}
