import {
  type Database,
  first,
  namedStatement,
  query,
  queryColumn,
  queryFirst,
  type Statement,
} from '../database/database.ts';
import { invalidRequest } from '../kernel/errors.ts';
import { readIsoTime } from '../kernel/text/iso-time.ts';
import { TEST_SURFACE } from '../ledger/transfer.ts';
import { objectsOfTask, outputFile, posterOf } from '../storage/object-sql.ts';
import type { Remover } from '../storage/removal.ts';
import { type Credentials, HISTORY_OF_TASK, type Phase, TASK_COLUMNS, type Task } from './task.ts';

/** What the account wrote on a task. */
interface Annotations {
  name: string | null;
  is_starred: boolean;
  tags: string[];
}

export interface ListedTask extends Annotations {
  id: string;
  surface: string;
  phase: Phase;
  aspect_ratio: Task['aspect_ratio'];
  request: Task['request'];
  seed: number;
  credits: number;
  api_key_id: string | null;
  output_object_id: string | null;
  output_facts: { width: number; height: number; durationSeconds: number } | null;
  error_code: Task['error_code'];
  error_message: string | null;
  created_at: Date;
  updated_at: Date;
  /** Null if the task never had an output. */
  output: TaskFile | null;
  has_poster: boolean;
  /** The cursor of a page that begins after this task. */
  position: string;
  /** The database's clock, in seconds since 1970. */
  now_seconds: number;
}

export interface TaskFilter {
  state?: 'processing' | 'completed' | 'failed' | undefined;
  model?: string | undefined;
  /** The id of an API key. */
  key?: string | undefined;
  surfaces: string[];
  from?: Date | undefined;
  until?: Date | undefined;
  /** Part of the prompt, the name or a tag, in any case; or the seed. */
  text?: string | undefined;
  starred?: boolean | undefined;
  tag?: string | undefined;
}

/** The most tasks scanned for one page, to bound the cost of a search. */
const WINDOW = 2000;

const COLUMNS = `id, surface, phase, aspect_ratio, request, seed, credits, api_key_id, output_object_id,
     output_facts, error_code, error_message, created_at, updated_at`;

const NEWEST_FIRST = 'order by created_at desc, id desc';

/** The account's rows in the period and after the cursor, newest first. */
const SCANNED = `where account_id = :accountId
       and created_at >= :from::timestamptz and created_at < :until::timestamptz
       and (created_at, id) < (:afterAt::timestamptz, :afterId::text)
     ${NEWEST_FIRST} limit :window::int`;

const POSITION = `created_at::text || ' ' || id`;

const ANNOTATIONS = `name, coalesce(is_starred, false) as is_starred, coalesce(tags, '{}') as tags`;

const FOUND = `surface = any(:surfaces::text[])
       and (:state::text is null or :state = case when phase in ('completed', 'failed')
         then phase else 'processing' end)
       and (:model::text is null or request->>'model' = :model)
       and (:key::text is null or api_key_id = :key)
       and (:text::text is null or seed::text = :text or strpos(lower(concat_ws(chr(10),
         request->>'prompt', name, array_to_string(tags, chr(10)))), lower(:text)) > 0)
       and (:starred::boolean is null or coalesce(is_starred, false) = :starred)
       and (:tag::text is null or :tag = any(tags))`;

// Only the page's tasks are joined with their files.
const PAGE = `select ${COLUMNS}, name, is_starred, tags, ${POSITION} as position,
     extract(epoch from clock_now())::float8 as now_seconds,
     (select to_jsonb(file) from (${outputFile('page.output_object_id')}) as file) as output,
     exists (${posterOf('page.id')}) as has_poster`;

const OWN_ANNOTATIONS = `left join (select task_id, name, is_starred, tags from task_annotations
     where account_id = :accountId) as own on task_id = id`;

const ANNOTATED = `from (select task_id as id, account_id, created_at from task_annotations) as annotated`;

const LIST = namedStatement(
  'gallery_list',
  `${PAGE} from (select ${COLUMNS}, ${ANNOTATIONS}
     from (select ${COLUMNS} from tasks ${SCANNED}) as scanned ${OWN_ANNOTATIONS}
     where ${FOUND} ${NEWEST_FIRST} limit :limit::int) as page ${NEWEST_FIRST}`,
);

// Starred and tagged tasks are rare in a long list, so only annotated tasks are scanned for them.
const LIST_ANNOTATED = namedStatement(
  'gallery_annotated',
  `${PAGE} from (select ${COLUMNS}, ${ANNOTATIONS}
     from (select ${COLUMNS} from tasks
       where id = any(array(select id ${ANNOTATED} ${SCANNED}))) as scanned ${OWN_ANNOTATIONS}
     where ${FOUND} ${NEWEST_FIRST} limit :limit::int) as page ${NEWEST_FIRST}`,
);

const END_OF_WINDOW = namedStatement(
  'gallery_end_of_window',
  `select ${POSITION} as position from (select created_at, id from tasks ${SCANNED}) as scanned
   ${NEWEST_FIRST} offset :skip::int limit 1`,
);

const END_OF_ANNOTATED = namedStatement(
  'gallery_end_of_annotated',
  `select ${POSITION} as position from (select created_at, id ${ANNOTATED} ${SCANNED}) as scanned
   ${NEWEST_FIRST} offset :skip::int limit 1`,
);

export interface TaskPage {
  tasks: ListedTask[];
  /** The cursor of the next page; null if there are no more tasks. */
  next: string | null;
}

/**
 * A page of an account's tasks, newest first. It scans at most {@link WINDOW} tasks, so a page may
 * be short or empty and still have a next one.
 * @throws ApiError `invalid_request` if `after` is not a cursor of this list
 */
export async function listAccountTasks(
  db: Database,
  accountId: string,
  filter: TaskFilter,
  page: { after: string | undefined; limit: number },
): Promise<TaskPage> {
  const { surfaces, state = null, model = null, key = null, text = null } = filter;
  const { starred = null, tag = null } = filter;
  const isAnnotatedOnly = starred === true || tag !== null;
  const list = isAnnotatedOnly ? LIST_ANNOTATED : LIST;
  const period = { from: filter.from ?? '-infinity', until: filter.until ?? 'infinity' };
  const limit = page.limit + 1;
  const start =
    page.after === undefined ? { afterAt: 'infinity', afterId: '' } : parseCursor(page.after);
  // Most pages fill up after a few tasks; only a search with rare matches scans many.
  let found: TaskPage = { tasks: [], next: null };
  for (const window of [2 * limit, WINDOW]) {
    const range = { accountId, ...period, ...start, window };
    const wanted = { ...range, limit, surfaces, state, model, key, text, starred, tag };
    const rows = await db.query<ListedTask>(list, list.values(wanted));
    const tasks = rows.slice(0, page.limit);
    if (rows.length === limit) return { tasks, next: tasks.at(-1)?.position ?? null };
    const end = isAnnotatedOnly ? END_OF_ANNOTATED : END_OF_WINDOW;
    found = { tasks, next: await endOf(db, end, end.values({ ...range, skip: window - 1 })) };
    if (found.next === null) return found;
  }
  return found;
}

/** The cursor after the last scanned task; null if there are no more tasks. */
async function endOf(db: Database, end: Statement, values: unknown[]): Promise<string | null> {
  return (await first<{ position: string }>(db, end, values))?.position ?? null;
}

interface Cursor {
  afterAt: string;
  afterId: string;
}

const POSITION_SHAPE = /^(\d{4}-\d\d-\d\d) ([\d:.]{8,15})([+-](?:0\d|1[0-5]))(:\d\d)? (\w{1,120})$/;

function parseCursor(position: string): Cursor {
  const [, day, time, hours, minutes = ':00', afterId = ''] = POSITION_SHAPE.exec(position) ?? [];
  const afterAt = `${day}T${time}${hours}${minutes}`;
  // Postgres has no year 0.
  if (readIsoTime(afterAt) && !afterAt.startsWith('0000')) return { afterAt, afterId };
  const details = { field: 'cursor', reason: 'malformed' };
  throw invalidRequest('The cursor is not one of this list.', details);
}

/** A file of a task. Its times are ISO strings, as in JSON. */
export interface TaskFile {
  id: string;
  role: string;
  state: 'writing' | 'ready' | 'deleting' | 'deleted';
  media_type: string;
  size_bytes: number | null;
  delete_after: string | null;
  taken_down_at: string | null;
  taken_down_by: Remover | null;
}

/** Why a task moved, as its account may see it. */
interface HistoryCause {
  cancelled_by?: 'customer' | 'operator';
  /** The reason of an operator who cancelled the task. */
  operator?: string | null;
}

export interface TaskRecord extends Task, Annotations {
  api_key_id: string | null;
  request_id: string | null;
  output_facts: {
    mediaType: string;
    width: number;
    height: number;
    durationSeconds: number;
    frames: number;
    videoCodec: string;
    audio: { codec: string } | null;
    /** Missing on tasks that ended before this member existed. */
    credentials?: Credentials;
  } | null;
  /** Its transitions after the create, oldest first. */
  history: { at: string; phase: Phase; cause: HistoryCause | null }[];
  files: TaskFile[];
}

const RECORD_COLUMNS = 'tasks.api_key_id, tasks.request_id, tasks.output_facts';

export const readTaskRecord = queryFirst<[accountId: string, id: string], TaskRecord>(
  'gallery_task',
  `select ${TASK_COLUMNS}, ${RECORD_COLUMNS}, ${HISTORY_OF_TASK} as history,
     ${objectsOfTask('tasks.id')} as files, ${ANNOTATIONS}
   from tasks left join (select task_id, name, is_starred, tags from task_annotations) as own
     on task_id = tasks.id
   where account_id = $1 and id = $2`,
);

export const accountPoster = queryFirst<
  [accountId: string, taskId: string],
  { id: string; size_bytes: number }
>(
  'gallery_poster',
  `select p.id, p.size_bytes from tasks cross join lateral (${posterOf('tasks.id')}) p
   where tasks.account_id = $1 and tasks.id = $2`,
);

/** What an account writes on its tasks. An omitted member keeps its value. */
export interface Annotation {
  /** Null removes the name. */
  name?: string | null | undefined;
  starred?: boolean | undefined;
  /** Tags to add and to remove. */
  add: string[];
  remove: string[];
}

const tagsOf = (before: string) => `array(
       select distinct tag from unnest(${before} || :add::text[]) as tag
       where tag <> all(:remove::text[]) order by tag)`;

const ANNOTATE = namedStatement(
  'gallery_annotate',
  `insert into task_annotations (task_id, account_id, created_at, name, is_starred, tags)
   select id, account_id, created_at, :name, coalesce(:starred::boolean, false),
     ${tagsOf(`'{}'::text[]`)}
   from tasks where account_id = :accountId and id = any(:ids::text[]) order by id
   on conflict (task_id) do update set
     name = case when :isNamed::boolean then :name else task_annotations.name end,
     is_starred = coalesce(:starred::boolean, task_annotations.is_starred),
     tags = ${tagsOf('task_annotations.tags')}
   returning task_id`,
);

/**
 * Names, stars and tags tasks of an account: all or none.
 * @returns the ids of those that the account has
 * @throws DatabaseError that violates `task_annotations_tags`, if one would have more than 20 tags
 */
export async function annotateTasks(
  db: Database,
  accountId: string,
  ids: string[],
  { name, starred, ...tags }: Annotation,
): Promise<string[]> {
  const named = { name: name ?? null, isNamed: name !== undefined, starred: starred ?? null };
  const values = ANNOTATE.values({ accountId, ids, ...named, ...tags });
  const rows = await db.query<{ task_id: string }>(ANNOTATE, values);
  return rows.map(({ task_id: id }) => id);
}

const MAX_TAGS = 200;

/** The tags of an account's newest annotated tasks. */
export const accountTags = queryColumn<[accountId: string], string>(
  'gallery_tags',
  `select distinct tag from (select tags from task_annotations where account_id = $1
     order by created_at desc limit ${WINDOW}) as annotated, unnest(tags) as tag
   order by tag limit ${MAX_TAGS}`,
);

export interface OwnVideo {
  task_id: string;
  object_id: string;
  prompt: string;
  name: string | null;
  seed: number;
  created_at: Date;
  media_type: string;
  size_bytes: number;
}

/** The stored videos of these tasks, as far as they belong to the account. */
export const readVideos = query<[accountId: string, ids: string[]], OwnVideo>(
  'gallery_videos',
  `select tasks.id as task_id, file.id as object_id, request->>'prompt' as prompt, name, seed,
     tasks.created_at, media_type, size_bytes
   from tasks cross join lateral (${outputFile('tasks.output_object_id')}) as file
     left join task_annotations on task_id = tasks.id
   where tasks.account_id = $1 and tasks.id = any($2) and phase = 'completed'
     and file.state = 'ready'`,
);

export interface ExportedTask extends Annotations {
  id: string;
  surface: string;
  phase: Phase;
  request: Task['request'];
  seed: number;
  credits: number;
  error_code: Task['error_code'];
  created_at: Date;
}

const EXPORT_PAGE = 500;

const EXPORTED = namedStatement(
  'export_tasks',
  `select id, surface, phase, request, seed, credits, error_code, created_at, ${ANNOTATIONS},
     ${POSITION} as position
   from (select ${COLUMNS} from tasks where account_id = :accountId
       and (created_at, id) > (:afterAt::timestamptz, :afterId::text)
     order by created_at, id limit ${EXPORT_PAGE}) as scanned ${OWN_ANNOTATIONS}
   order by created_at, id`,
);

/** All tasks of an account, the oldest first, read page by page. */
export async function* exportedTasks(
  db: Database,
  accountId: string,
): AsyncGenerator<ExportedTask> {
  for (let after: Cursor | undefined = { afterAt: '-infinity', afterId: '' }; after; ) {
    const values = EXPORTED.values({ accountId, ...after });
    const rows = await db.query<ExportedTask & { position: string }>(EXPORTED, values);
    yield* rows;
    const last = rows.length < EXPORT_PAGE ? undefined : rows.at(-1);
    after = last && parseCursor(last.position);
  }
}

/** An account's tasks created on one day with one model and API key. */
export interface UsageRow {
  /** UTC, as 2026-11-22. */
  day: string;
  model: string;
  surface: string;
  /** Null for tasks of the website. */
  api_key_id: string | null;
  tasks: number;
  videos: number;
  failed: number;
  /** Charged or reserved, minus refunds. */
  credits: number;
}

const USAGE = namedStatement(
  'gallery_usage',
  `select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD') as day,
     request->>'model' as model, surface, api_key_id,
     count(*)::int as tasks, (count(*) filter (where phase = 'completed'))::int as videos,
     (count(*) filter (where phase = 'failed'))::int as failed,
     coalesce(sum(credits) filter (where phase <> 'failed'), 0)::bigint as credits
   from tasks
   where account_id = :accountId and created_at >= :from::timestamptz
     and created_at < :until::timestamptz and (surface = '${TEST_SURFACE}') = :isTest::boolean
   group by 1, 2, 3, 4 order by 1, 2, 3, 4`,
);

/** The usage of test tasks only, or of all others. */
export function accountUsage(
  db: Database,
  accountId: string,
  wanted: { isTest: boolean; from: Date; until: Date },
): Promise<UsageRow[]> {
  return db.query<UsageRow>(USAGE, USAGE.values({ accountId, ...wanted }));
}
