import { Type } from 'typebox';
import { listKeys } from '../../accounts/api-keys.ts';
import { type CatalogDeps, offeredNames } from '../../catalog/catalog.ts';
import { modelSchema } from '../../catalog/model-schema.ts';
import { type Database, violatedConstraint } from '../../database/database.ts';
import { ApiError, invalidRequest } from '../../kernel/errors.ts';
import { TEST_SURFACE } from '../../ledger/transfer.ts';
import { limitSchema } from '../../requests/routes.ts';
import type { Links } from '../../storage/links.ts';
import {
  accountPoster,
  accountTags,
  annotateTasks,
  type ListedTask,
  listAccountTasks,
  type TaskFile,
} from '../../tasks/account-tasks.ts';
import { API_SURFACE, WEB_SURFACE } from '../../tasks/create/new-task.ts';
import { type AsJson, ModeSchema, nameSchema, type PageDeps, siteRoute } from '../route.ts';
import { type FileDeps, openStored } from '../send-file.ts';
import { PHASE_LABELS, shownStatus } from './task-words.ts';
import { dayAfter, startOfDay } from './usage.ts';

type Listed = Omit<ListedTask, 'position'>;

export type VideoItem = AsJson<ReturnType<typeof videoItem>>;

export function videoItem(task: Listed, links: Links) {
  const { request, phase, output_facts: facts, output } = task;
  const isThere = phase === 'completed' && output?.state === 'ready';
  return {
    id: task.id,
    status: shownStatus(phase),
    // Processing, with an unknown outcome.
    is_held: phase === 'held',
    label: PHASE_LABELS[phase],
    prompt: request.prompt,
    name: task.name,
    is_starred: task.is_starred,
    tags: task.tags,
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
    video_url: isThere ? links.linkTo(output.id, task.now_seconds) : null,
    size_bytes: isThere ? output.size_bytes : null,
    // null: the video is there, or there never was one.
    deleted: phase === 'completed' && !isThere ? deletionOf(output) : null,
  };
}

function deletionOf(output: TaskFile | null) {
  const { taken_down_at: removedAt = null, taken_down_by: by, delete_after: ended } = output ?? {};
  const at = removedAt ?? ended ?? null;
  return {
    // `unknown`: the owner or an operator; earlier versions didn't record which.
    by: removedAt === null ? ('retention' as const) : (by ?? ('unknown' as const)),
    at: at === null ? null : new Date(at),
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
  starred: Type.Optional(Type.Literal('yes')),
  tag: Type.Optional(Type.String({ maxLength: 200 })),
  cursor: Type.Optional(Type.String({ maxLength: 200 })),
  limit: limitSchema(),
});

const SURFACES = { live: [API_SURFACE, WEB_SURFACE], test: [TEST_SURFACE] };

/** Lists the account's tasks of one mode. Days are UTC; `to` is inclusive. */
const listTasksOfAccount = siteRoute('GET /console/api/tasks', {
  query: Query,
  handle: async ({ db, links }: ShowDeps, { query, session: { accountId } }) => {
    const { mode, surface, from, to, cursor, limit = LIMIT, text, starred, ...rest } = query;
    const filter = {
      ...rest,
      surfaces: SURFACES[mode].filter(
        (candidate) => surface === undefined || candidate === surface,
      ),
      text: text === undefined || text.trim() === '' ? undefined : text.trim(),
      starred: starred && true,
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
    const tags = await accountTags(db, accountId);
    return { models, tags, keys: keys.map(({ key_id: id, name }) => ({ id, name })) };
  },
});

/** How many videos are changed or downloaded together. */
export const MAX_TOGETHER = 50;

const TagsSchema = Type.Optional(Type.Array(nameSchema(40), { maxItems: 20 }));

/** Names, stars and tags all of the videos or none. What the body leaves out stays. */
const patchTasks = siteRoute('PATCH /console/api/tasks', {
  body: Type.Object({
    ids: Type.Array(Type.String({ maxLength: 120 }), { minItems: 1, maxItems: MAX_TOGETHER }),
    name: Type.Optional(Type.Union([nameSchema(120), Type.Null()])),
    starred: Type.Optional(Type.Boolean()),
    add_tags: TagsSchema,
    remove_tags: TagsSchema,
  }),
  handle: async ({ db }: PageDeps, { body, session: { accountId } }) => {
    const { ids, name, starred, add_tags: add = [], remove_tags: remove = [] } = body;
    const annotation = { name, starred, add: add.map(trimmed), remove: remove.map(trimmed) };
    const annotated = await annotateTasks(db, accountId, ids, annotation).catch(
      (error: unknown) => {
        if (violatedConstraint(error) !== 'task_annotations_tags') throw error;
        const details = { field: 'add_tags', reason: 'too_many' };
        throw invalidRequest('A video can have at most 20 tags.', details);
      },
    );
    if (annotated.length === 0) throw noVideo();
    return { annotated: annotated.length };
  },
});

const trimmed = (text: string) => text.trim();

export function noVideo(): ApiError {
  return new ApiError('not_found', 'This account has no video with this id.');
}

/**
 * Sends a task's poster to its account. Its URL is stable, so browsers cache it for an hour, per
 * cookie: another session can't read it from the cache.
 */
const showPoster = siteRoute('GET /console/api/tasks/:id/poster', {
  handle: async (
    deps: FileDeps,
    { params, request, reply, session: { accountId } },
  ): Promise<void> => {
    const poster = await accountPoster(deps.db, accountId, params.id);
    if (!poster) throw noPoster();
    const etag = `"${poster.id}"`;
    reply.headers({ etag, vary: 'cookie', 'cache-control': 'private, max-age=3600' });
    if (request.headers['if-none-match'] === etag) return void reply.code(304).send();
    const bytes = await openStored(deps, poster.id, noPoster);
    reply.headers({ 'content-type': 'image/webp', 'content-length': poster.size_bytes });
    reply.send(bytes);
  },
});

function noPoster(): ApiError {
  return new ApiError('not_found', 'This account has no video with this id and a poster.');
}

export const GALLERY_ROUTES = [listTasksOfAccount, readTaskFilters, patchTasks, showPoster];
