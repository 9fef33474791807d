import { Type } from 'typebox';
import { listKeys } from '../../accounts/api-keys.ts';
import { MODELS } from '../../catalog/models.ts';
import type { Database } from '../../database/database.ts';
import { ModeSchema, siteRoute } from '../route.ts';

/** By what the gallery can be filtered; also revoked keys: their videos are listed too. */
export const readTaskFilters = siteRoute('GET /console/api/task-filters', {
  query: Type.Object({ mode: ModeSchema }),
  handle: async ({ db }: { db: Database }, { query, session: { accountId } }) => {
    const all = await listKeys(db, accountId);
    const keys = all.filter(({ mode }) => mode === (query.mode ?? 'live'));
    return { models: [...MODELS], keys: keys.map(({ key_id: id, name }) => ({ id, name })) };
  },
});
