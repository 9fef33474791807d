import { Type } from 'typebox';
import type { Database } from '../database/database.ts';
import { UPLOAD_SECONDS, type Uploads } from '../requests/receive-upload.ts';
import { findSimilar } from '../storage/fingerprints.ts';
import { findOutput } from '../storage/outputs.ts';
import { type SiteRoute, siteRoute } from './route.ts';

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

/** A comparison may cost a minute of CPU. */
const COMPARISONS = { max: 10, seconds: 3600 };

/** Whether an output looks like the video in the body, and when it was stored. */
export const compareVideo: SiteRoute<
  { db: Database; uploads: Uploads },
  {
    name: 'POST /console/api/verify';
    body: Blob;
    query: undefined;
    result: { similar_at: string | null };
  }
> = {
  serve(scope, { db, uploads }) {
    scope.route({
      method: 'POST',
      url: '/console/api/verify',
      config: { access: 'public', rate: COMPARISONS, bodySeconds: UPLOAD_SECONDS },
      handler: async (request, reply) => {
        const output = await findSimilar(db, await uploads.hashFrames(request, reply));
        return { similar_at: output?.created_at ?? null };
      },
    });
  },
};
