import { Type } from 'typebox';
import type { Database } from '../database/database.ts';
import { findOutput } from '../storage/outputs.ts';
import { siteRoute } from './route.ts';

const Query = Type.Object({ sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }) });

/**
 * Whether a file with this digest was stored here as an output, and when. Anybody may ask, so it
 * names no task and no account.
 */
export const verifyDigest = siteRoute('GET /console/api/verify', {
  access: 'public',
  rate: { max: 30, seconds: 60 },
  query: Query,
  async handle({ db }: { db: Database }, { query }) {
    const output = await findOutput(db, query.sha256);
    return { stored_at: output?.created_at ?? null };
  },
});
