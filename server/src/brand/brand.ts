// The room brand/: what an installation is called and looks like (docs/operators/brand.md).

import { checkColor } from './color.ts';
import { checkLogo, LOGO_BYTES } from './logo.ts';

/** @returns the value to store. `refuse` throws, with the violated bound: `must be …` */
type Check = (given: string, refuse: (bound: string) => never) => string;

interface BrandFacts {
  /** If it is set, it wins over what operators set by command or in the console. */
  variable: string;
  about: string;
  check: Check;
}

export const BRAND_FIELDS = {
  name: {
    variable: 'BRAND_NAME',
    about: 'The name that customers read, at most 60 characters.',
    check: (given, refuse) => checkLine(given, MAX_NAME, refuse),
  },
  logo: {
    variable: 'BRAND_LOGO',
    about: `A PNG or WebP image of at most ${LOGO_BYTES / 1024} KB. A square one is also the icon.`,
    check: checkLogo,
  },
  color: {
    variable: 'BRAND_COLOR',
    about: 'The accent colour, such as #1a6fd4.',
    check: checkColor,
  },
  hero_text: {
    variable: 'BRAND_HERO_TEXT',
    about: 'The heading of the first page, at most 80 characters.',
    check: (given, refuse) => checkLine(given, MAX_HERO, refuse),
  },
  videos: {
    variable: 'BRAND_VIDEOS',
    about:
      'Links of shared videos, such as /s/…, with spaces between them: the first is on the first page, all are examples in the playground.',
    check: checkVideos,
  },
  support_email: {
    variable: 'SUPPORT_EMAIL',
    about: 'The address that customers write to when they need help or credits.',
    check: checkEmail,
  },
  terms_url: {
    variable: 'TERMS_URL',
    about: 'The https address of the terms.',
    check: checkLink,
  },
  privacy_url: {
    variable: 'PRIVACY_URL',
    about: 'The https address of the privacy policy.',
    check: checkLink,
  },
  imprint_url: {
    variable: 'IMPRINT_URL',
    about: 'The https address of the imprint.',
    check: checkLink,
  },
} satisfies Record<string, BrandFacts>;

export type BrandField = keyof typeof BRAND_FIELDS;

/** Checked values. The logo is its file in base64. */
export type BrandSettings = { [Field in BrandField]?: string };

export type Brand = BrandSettings & { name: string };

export const DEFAULT_BRAND: Brand = { name: 'Framewright' };

export interface BrandDeps {
  brand: {
    current(): Brand;
    /** What variables set; it wins over what operators set. */
    fixed: BrandSettings;
  };
}

const MAX_NAME = 60;
const MAX_HERO = 80;
/** Characters that end a line, or that reorder the text around it. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;

function checkLine(given: string, max: number, refuse: (bound: string) => never): string {
  if (UNPRINTABLE.test(given)) refuse('must be one line of printable characters');
  if ([...given].length > max) refuse(`must have at most ${max} characters`);
  return given;
}

const MAX_VIDEOS = 6;

/** Keeps only the paths: shared videos belong to this installation, whatever its address. */
function checkVideos(given: string, refuse: (bound: string) => never): string {
  const paths = given
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((link) => /^(?:https?:\/\/[^/\s]+)?(\/s\/[\w-]{46})$/.exec(link)?.[1]);
  const links = paths.filter((path) => path !== undefined);
  if (links.length < paths.length) refuse('must be links of shared videos, which begin with /s/');
  if (links.length > MAX_VIDEOS) refuse(`must be at most ${MAX_VIDEOS} links`);
  return links.join(' ');
}

/** The paths of the shared videos that the operator chose. */
export function videosOf({ videos = '' }: BrandSettings): string[] {
  return videos.split(' ').filter(Boolean);
}

const MAX_EMAIL = 254;

function checkEmail(given: string, refuse: (bound: string) => never): string {
  if (given.length <= MAX_EMAIL && /^[\w.+-]+@[\w-]+(\.[\w-]+)+$/.test(given)) {
    return given;
  }
  return refuse('must be an e-mail address such as help@example.com');
}

const MAX_LINK = 500;

function checkLink(given: string, refuse: (bound: string) => never): string {
  const url = URL.parse(given);
  const isSafe = url?.protocol === 'https:' && url.username === '' && url.password === '';
  if (isSafe && url.href.length <= MAX_LINK) return url.href;
  return refuse(`must be an https address of at most ${MAX_LINK} characters, without a password`);
}
