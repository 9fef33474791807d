import { Type } from 'typebox';
import { listKeys } from '../../accounts/api-keys.ts';
import { MODELS } from '../../catalog/models.ts';
import type { Database } from '../../database/database.ts';
import { ModeSchema, siteRoute } from '../route.ts';

/** By what the gallery can be filtered: the response of GET /console/api/task-filters. */
export interface TaskFilters {
  models: string[];
  /** Also revoked ones: their videos are listed too. */
  keys: { id: string; name: string | null }[];
}

export const readTaskFilters = siteRoute({
  method: 'GET',
  url: '/console/api/task-filters',
  query: Type.Object({ mode: ModeSchema }),
  handle: async (
    { db }: { db: Database },
    { query, session: { accountId } },
  ): Promise<TaskFilters> => {
    const all = await listKeys(db, accountId);
    const keys = all.filter(({ mode }) => mode === (query.mode ?? 'live'));
    return { models: [...MODELS], keys: keys.map(({ key_id: id, name }) => ({ id, name })) };
  },
});
