import { Type } from 'typebox';
import { listKeys } from '../../accounts/api-keys.ts';
import { type CatalogDeps, offeredNames } from '../../catalog/catalog.ts';
import { modelSchema } from '../../catalog/model-schema.ts';
import type { Database } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { TEST_SURFACE } from '../../ledger/transfer.ts';
import { limitSchema } from '../../requests/routes.ts';
import type { Links } from '../../storage/links.ts';
import { ObjectMissing, type Storage } from '../../storage/storage.ts';
import { reportIfVanished } from '../../storage/vanished.ts';
import { accountPoster, type ListedTask, listAccountTasks } from '../../tasks/account-tasks.ts';
import { API_SURFACE, WEB_SURFACE } from '../../tasks/create/new-task.ts';
import { type AsJson, ModeSchema, type PageDeps, siteRoute } from '../route.ts';
import { PHASE_LABELS, shownStatus } from './task-words.ts';
import { dayAfter, startOfDay } from './usage.ts';

type Listed = Omit<ListedTask, 'position'>;

export type VideoItem = AsJson<ReturnType<typeof videoItem>>;

export function videoItem(task: Listed, links: Links) {
  const { request, phase, output_facts: facts, output_object_id: objectId } = task;
  const hasVideo = task.has_video && phase === 'completed' && objectId !== null;
  return {
    id: task.id,
    status: shownStatus(phase),
    // Processing, with an unknown outcome.
    is_held: phase === 'held',
    label: PHASE_LABELS[phase],
    prompt: request.prompt,
    model: request.model,
    mode: request.mode,
    resolution: request.resolution,
    aspect_ratio: task.aspect_ratio ?? request.aspect_ratio,
    duration: request.duration,
    seed: task.seed,
    surface: task.surface,
    api_key_id: task.api_key_id,
    credits_used: task.credits,
    credits_refunded: phase === 'failed' ? task.credits : 0,
    failed_because: task.error_message,
    created_at: task.created_at,
    updated_at: task.updated_at,
    // The video's size in pixels.
    width: facts?.width ?? null,
    height: facts?.height ?? null,
    poster_url: task.has_poster ? `/console/api/tasks/${task.id}/poster` : null,
    // A signed link that expires; null: no video, or deleted.
    video_url: hasVideo ? links.linkTo(objectId, task.now_seconds) : null,
  };
}

export interface ShowDeps {
  db: Database;
  links: Links;
}

const LIMIT = 24;

const Query = Type.Object({
  mode: ModeSchema,
  state: Type.Optional(Type.Enum(['processing', 'completed', 'failed'])),
  model: Type.Optional(modelSchema()),
  key: Type.Optional(Type.String({ maxLength: 120 })),
  surface: Type.Optional(Type.Enum(['api', 'web'])),
  from: Type.Optional(Type.String()),
  to: Type.Optional(Type.String()),
  text: Type.Optional(Type.String({ maxLength: 200 })),
  cursor: Type.Optional(Type.String({ maxLength: 200 })),
  limit: limitSchema(),
});

const SURFACES = { live: [API_SURFACE, WEB_SURFACE], test: [TEST_SURFACE] };

/** Lists the account's tasks of one mode. Days are UTC; `to` is inclusive. */
const listTasksOfAccount = siteRoute('GET /console/api/tasks', {
  query: Query,
  handle: async ({ db, links }: ShowDeps, { query, session: { accountId } }) => {
    const { mode, surface, from, to, cursor, limit = LIMIT, text, ...rest } = query;
    const filter = {
      ...rest,
      surfaces: SURFACES[mode].filter((one) => surface === undefined || one === surface),
      text: text === undefined || text.trim() === '' ? undefined : text.trim(),
      from: from === undefined ? undefined : startOfDay('from', from),
      until: to === undefined ? undefined : dayAfter('to', to),
    };
    const page = { after: cursor, limit };
    const { tasks, next } = await listAccountTasks(db, accountId, filter, page);
    return { items: tasks.map((task) => videoItem(task, links)), next };
  },
});

/** The choices for the filters. Revoked keys are included, since their videos are listed. */
const readTaskFilters = siteRoute('GET /console/api/task-filters', {
  query: Type.Object({ mode: ModeSchema }),
  handle: async ({ db, catalog }: PageDeps & CatalogDeps, { query, session: { accountId } }) => {
    const all = await listKeys(db, accountId);
    const keys = all.filter(({ mode }) => mode === query.mode);
    const models = offeredNames(catalog.current());
    return { models, keys: keys.map(({ key_id: id, name }) => ({ id, name })) };
  },
});

/**
 * Sends a task's poster to its account. Its URL is stable, so browsers cache it for an hour, per
 * cookie: another session can't read it from the cache.
 */
const showPoster = siteRoute('GET /console/api/tasks/:id/poster', {
  handle: async (
    { db, storage, log }: { db: Database; storage: Storage; log: Log },
    { params, request, reply, session: { accountId } },
  ): Promise<void> => {
    const poster = await accountPoster(db, accountId, params.id);
    if (!poster) throw noPoster();
    const etag = `"${poster.id}"`;
    reply.headers({ etag, vary: 'cookie', 'cache-control': 'private, max-age=3600' });
    if (request.headers['if-none-match'] === etag) return void reply.code(304).send();
    const bytes = await storage.open(poster.id).catch(async (cause: unknown) => {
      if (cause instanceof ObjectMissing) {
        await reportIfVanished({ db, log }, poster.id);
        throw noPoster();
      }
      const message = 'The picture can’t be read at the moment. Try again in a few seconds.';
      throw new ApiError('service_busy', message, { retryAfterSeconds: 5, cause });
    });
    reply.headers({ 'content-type': 'image/webp', 'content-length': poster.size_bytes });
    reply.send(bytes);
  },
});

function noPoster(): ApiError {
  return new ApiError('not_found', 'This account has no video with this id and a poster.');
}

export const GALLERY_ROUTES = [listTasksOfAccount, readTaskFilters, showPoster];
