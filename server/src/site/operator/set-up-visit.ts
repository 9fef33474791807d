import { Type } from 'typebox';
import type { Database } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import { recordVisit } from '../../operator/set-up/public-url.ts';
import type { Links } from '../../storage/links.ts';
import { siteRoute } from '../route.ts';

interface VisitDeps {
  db: Database;
  links: Links;
  publicUrl(): string;
  now(): number;
}

const Query = Type.Object({
  by: Type.Enum(['doctor', 'visitor']),
  expires: Type.String({ pattern: '^\\d{1,12}$' }),
  signature: Type.String({ maxLength: 100 }),
});

/** A signed link: the response proves that this installation is behind its public URL. */
export const visitSetUp = siteRoute('GET /console/api/set-up', {
  access: 'public',
  rate: { max: 30, seconds: 60 },
  query: Query,
  async handle({ db, links, publicUrl, now }: VisitDeps, { query, request }) {
    const { by, ...signed } = query;
    if (links.expiryOf(`set-up ${by}`, signed) * 1000 < now()) {
      throw new ApiError('link_expired', 'This link has expired. Run the check again.');
    }
    const isFromOutside = by === 'visitor' && (await recordVisit(db, publicUrl(), request.ip));
    return { proof: links.proofOf(signed.signature), is_from_outside: isFromOutside };
  },
});
