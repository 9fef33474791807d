import {
  BRAND_FIELDS,
  type BrandField,
  type BrandSettings,
  DEFAULT_BRAND,
} from '../../brand/brand.ts';
import { LOGO_BYTES, readLogo } from '../../brand/logo.ts';
import { readBrandSettings, setBrand } from '../../brand/stored-brand.ts';
import type { Transaction } from '../../database/database.ts';
import { Refusal, UsageError } from '../../kernel/errors.ts';
import { performAction } from '../actions.ts';
import { file, optional, orNone, parsed, text } from '../verb/fields.ts';
import { type VerbDeps, verb } from '../verb/verb.ts';

const NAMES = Object.keys(BRAND_FIELDS) as BrandField[];

function setting(name: BrandField, word: string) {
  const { about, check } = BRAND_FIELDS[name];
  return optional(orNone(parsed(text(about, { word, max: 2000 }), check)));
}

const LOGO = BRAND_FIELDS.logo;

const FIELDS = {
  name: setting('name', 'NAME'),
  logo: optional(orNone(parsed(file(LOGO.about, { max: LOGO_BYTES }), LOGO.check))),
  color: setting('color', 'COLOR'),
  hero_text: setting('hero_text', 'TEXT'),
  videos: setting('videos', 'LINKS'),
  support_email: setting('support_email', 'EMAIL'),
  terms_url: setting('terms_url', 'URL'),
  privacy_url: setting('privacy_url', 'URL'),
  imprint_url: setting('imprint_url', 'URL'),
};

type Changes = { [Field in BrandField]?: string | null | undefined };

export const BRAND = {
  'brand show': verb({
    summary: 'Shows the name, logo, colour, texts and links of the website, and what set each',
    fields: {},
    cursorOf: () => undefined,
    run: async (deps) => shownBrand(await readBrandSettings(deps.db), await fixedOf(deps)),
  }),
  'brand set': verb({
    summary: 'Changes the name, logo, colour, texts or links of the website; none: the default',
    dialog: {
      title: 'Change the brand',
      effect: 'Pages and mails have it within seconds. Enter none to return to the default.',
    },
    fields: FIELDS,
    reason: 'optional',
    async run(deps, input, action) {
      const changes = givenChanges(input);
      requireChangeable(changes, await fixedOf(deps));
      const changing = {
        target: 'brand',
        details: recorded(changes),
        before: async (tx: Transaction) => {
          const stored = Object.entries(await readBrandSettings(tx));
          return recorded(Object.fromEntries(stored.filter(([name]) => name in changes)));
        },
      };
      return performAction(deps.db, action, changing, async (tx) => ({
        changed: await setBrand(tx, changes),
      }));
    },
  }),
};

/** The changes to record: of the logo only its size, not its bytes. */
function recorded(changes: Changes): Changes {
  const { logo } = changes;
  return { ...changes, ...(logo && { logo: sizeOf(logo) }) };
}

async function fixedOf({ fixedBrand }: VerbDeps): Promise<BrandSettings> {
  return (await fixedBrand?.()) ?? {};
}

function givenChanges(input: Changes): { [Field in BrandField]?: string | null } {
  const changes = Object.entries(input).filter(([, value]) => value !== undefined);
  if (changes.length === 0) throw new UsageError('there is nothing to change: no field is given');
  return Object.fromEntries(changes);
}

function requireChangeable(changes: Changes, fixed: BrandSettings): void {
  const name = NAMES.find((name) => changes[name] !== undefined && fixed[name] !== undefined);
  if (name === undefined) return;
  const bound = `is set by the variable ${BRAND_FIELDS[name].variable}: change it there`;
  throw new Refusal(name, changes[name], bound);
}

function shownBrand(stored: BrandSettings, fixed: BrandSettings) {
  const brand: BrandSettings = { ...DEFAULT_BRAND, ...stored, ...fixed };
  return NAMES.map((name) => {
    const { [name]: value = null } = brand;
    return {
      setting: name,
      value: name === 'logo' && value !== null ? sizeOf(value) : value,
      set_by: fixed[name] ? BRAND_FIELDS[name].variable : stored[name] ? 'operator' : 'default',
    };
  });
}

function sizeOf(logo: string): string {
  const { mediaType = '', width = 0, height = 0, bytes } = readLogo(logo) ?? {};
  return `${mediaType}, ${width}x${height}, ${bytes?.length ?? 0} bytes`;
}
