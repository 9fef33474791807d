import { Type } from 'typebox';
import { MODELS } from '../../catalog/models.ts';
import type { Database } from '../../database/database.ts';
import { invalidRequest } from '../../kernel/errors.ts';
import { TEST_SURFACE } from '../../ledger/transfer.ts';
import { limitSchema } from '../../requests/routes.ts';
import type { Links } from '../../storage/links.ts';
import { API_SURFACE, WEB_SURFACE } from '../../tasks/create/new-task.ts';
import { listAccountTasks, parseCursor } from '../../tasks/gallery/listed-tasks.ts';
import { ModeSchema, siteRoute } from '../route.ts';
import { dayAfter, startOfDay } from './days.ts';
import { videoItem } from './video-item.ts';

interface ListDeps {
  db: Database;
  links: Links;
}

const LIMIT = 24;

const Query = Type.Object({
  mode: ModeSchema,
  state: Type.Optional(Type.Enum(['processing', 'completed', 'failed'])),
  model: Type.Optional(Type.Enum(MODELS)),
  key: Type.Optional(Type.String({ maxLength: 120 })),
  surface: Type.Optional(Type.Enum(['api', 'web'])),
  from: Type.Optional(Type.String()),
  to: Type.Optional(Type.String()),
  text: Type.Optional(Type.String({ maxLength: 200 })),
  cursor: Type.Optional(Type.String({ maxLength: 200 })),
  limit: limitSchema(),
});

const SURFACES = { live: [API_SURFACE, WEB_SURFACE], test: [TEST_SURFACE] };

/** Lists the tasks of the account, of one mode. Days are UTC; `to` is the last day that counts. */
export const listTasksOfAccount = siteRoute('GET /console/api/tasks', {
  query: Query,
  handle: async ({ db, links }: ListDeps, { query, session: { accountId } }) => {
    const { mode = 'live', surface, from, to, cursor, limit = LIMIT, text, ...rest } = query;
    const filter = {
      ...rest,
      surfaces: SURFACES[mode].filter((one) => surface === undefined || one === surface),
      text: text === undefined || text.trim() === '' ? undefined : text.trim(),
      from: from === undefined ? undefined : startOfDay('from', from),
      until: to === undefined ? undefined : dayAfter('to', to),
    };
    const page = {
      after: cursor === undefined ? undefined : cursorOf(cursor),
      limit: limit,
    };
    const { tasks, next } = await listAccountTasks(db, accountId, filter, page);
    return { items: tasks.map((task) => videoItem(task, links)), next };
  },
});

function cursorOf(text: string) {
  const cursor = parseCursor(text);
  if (cursor) return cursor;
  const details = { field: 'cursor', reason: 'malformed' };
  throw invalidRequest('The cursor is not one of this list.', details);
}
