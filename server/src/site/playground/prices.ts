import { Type } from 'typebox';
import type { CatalogDeps } from '../../catalog/catalog.ts';
import { frameSize } from '../../catalog/frame-size.ts';
import {
  INPUT_BYTES,
  REFERENCE_SECONDS,
  SHORT_SIDE,
  TOTAL_REFERENCE_SECONDS,
} from '../../catalog/limits.ts';
import { modelSchema } from '../../catalog/model-schema.ts';
import {
  ASPECT_RATIOS,
  type AspectRatio,
  MODES,
  RESOLUTIONS,
  type Resolution,
} from '../../catalog/models.ts';
import { MODE_FIELDS, REQUIRED_FIELDS, requirePrice } from '../../catalog/request.ts';
import { balances } from '../../ledger/ledger.ts';
import { splitCredits } from '../../ledger/reserve.ts';
import { testBalance } from '../../ledger/test-credits.ts';
import { MAX_UPLOAD_BYTES } from '../../requests/receive-upload.ts';
import { QUOTA_BYTES } from '../../uploads/quota.ts';
import { shownModels } from '../about.ts';
import { ModeSchema, type PageDeps, type ResultOf, siteRoute } from '../route.ts';

export type { TestOutcome } from '../../catalog/test-outcomes.ts';

/** What the form needs besides the schema in openapi.json: models with prices, rules, limits. */
export type FormRules = ResultOf<typeof getPrices>;

function framesOf(resolution: Resolution) {
  const sizes = ASPECT_RATIOS.map((ratio) => {
    const { width, height } = frameSize(resolution, ratio);
    return [ratio, [width, height]];
  });
  return Object.fromEntries(sizes) as Record<AspectRatio, [number, number]>;
}

const RULES = {
  // The media fields that each mode accepts, and those of which it requires at least one.
  modes: Object.fromEntries(
    MODES.map((mode) => [mode, { accepts: MODE_FIELDS[mode], requires: REQUIRED_FIELDS[mode] }]),
  ),
  // Width and height in pixels, by resolution and ratio.
  frames: Object.fromEntries(
    RESOLUTIONS.map((resolution) => [resolution, framesOf(resolution)]),
  ) as Record<Resolution, ReturnType<typeof framesOf>>,
  limits: {
    input_bytes: INPUT_BYTES, // all input media of a request together
    upload_bytes: MAX_UPLOAD_BYTES, // one upload
    // All uploads of a mailbox, before and after its account got paid credits.
    stored_bytes: QUOTA_BYTES,
    reference_seconds: REFERENCE_SECONDS, // one reference video
    total_reference_seconds: TOTAL_REFERENCE_SECONDS, // all those of a request
    reference_short_side: SHORT_SIDE,
  },
};

const getPrices = siteRoute('GET /console/api/prices', {
  access: 'public',
  handle: async (deps: CatalogDeps) => ({ ...shownModels(deps), ...RULES }),
});

/** What one video or several cost, and how the account would pay it: promotional credits first. */
export type Quote = ResultOf<typeof getQuote>;

const PricedSchema = Type.Object({
  model: modelSchema(),
  resolution: Type.Enum(RESOLUTIONS),
  duration: Type.Integer({ minimum: 4, maximum: 15 }),
  reference_video_durations: Type.Array(Type.Integer({ minimum: 2, maximum: 15 }), { maxItems: 3 }),
  // How many videos together, by default one.
  count: Type.Optional(Type.Integer({ minimum: 1, maximum: 4 })),
});

const getQuote = siteRoute('POST /console/api/price', {
  query: Type.Object({ mode: ModeSchema }),
  body: PricedSchema,
  handle: async (
    { db, catalog, now }: PageDeps & CatalogDeps,
    { body: { count = 1, ...body }, query, session: { accountId } },
  ) => {
    const rules = { catalog: catalog.current(), at: new Date(now()) };
    const credits = requirePrice(body, rules).credits * count;
    if (query.mode === 'test') {
      const { available: test } = await testBalance(db, accountId);
      const is_affordable = credits <= test;
      return { credits, promotional: 0, paid: 0, is_affordable, available: { test } };
    }
    const { paid, promotional } = await balances(db, accountId);
    const available = { promotional: promotional.available, paid: paid.available };
    const { isAffordable, ...split } = splitCredits(credits, available);
    return { credits, ...split, is_affordable: isAffordable, available };
  },
});

export const PRICE_ROUTES = [getPrices, getQuote];
