import { type Database, namedStatement, queryFirst } from '../database/database.ts';
import { invalidRequest } from '../kernel/errors.ts';
import { readIsoTime } from '../kernel/text/iso-time.ts';
import { TEST_SURFACE } from '../ledger/transfer.ts';
import { hasReadyFile, objectsOfTask, posterOf } from '../storage/object-sql.ts';
import { type Credentials, HISTORY_OF_TASK, type Phase, TASK_COLUMNS, type Task } from './task.ts';

export interface ListedTask {
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
  has_video: boolean;
  has_poster: boolean;
  /** The cursor of a page that begins after this task. */
  position: string;
  /** The database's clock, in seconds since 1970. */
  now_seconds: number;
}

export interface TaskFilter {
  state?: 'processing' | 'completed' | 'failed' | undefined;
  model?: string | undefined;
  key?: string | undefined;
  surfaces: string[];
  from?: Date | undefined;
  until?: Date | undefined;
  /** Part of the prompt; case-insensitive. */
  text?: string | undefined;
}

/** The most tasks scanned for one page, to bound the cost of a search. */
const WINDOW = 2000;

const COLUMNS = `id, surface, phase, aspect_ratio, request, seed, credits, api_key_id, output_object_id,
     output_facts, error_code, error_message, created_at, updated_at`;

/** The tasks of the account in the period and after the cursor, the newest first. */
const SCANNED = `from tasks where account_id = :accountId
       and created_at >= :from::timestamptz and created_at < :until::timestamptz
       and (created_at, id) < (:afterAt::timestamptz, :afterId::text)
     order by created_at desc, id desc limit :window::int`;

const POSITION = `created_at::text || ' ' || id`;

// Only the page's tasks are joined with their files.
const LIST = namedStatement(
  'gallery_list',
  `select ${COLUMNS}, ${POSITION} as position,
     extract(epoch from clock_now())::float8 as now_seconds,
     ${hasReadyFile('output_object_id')} as has_video, exists (${posterOf('page.id')}) as has_poster
   from (select ${COLUMNS} from (select ${COLUMNS} ${SCANNED}) as scanned
     where surface = any(:surfaces::text[])
       and (:state::text is null or :state = case when phase in ('completed', 'failed')
         then phase else 'processing' end)
       and (:model::text is null or request->>'model' = :model)
       and (:key::text is null or api_key_id = :key)
       and (:text::text is null or strpos(lower(request->>'prompt'), lower(:text)) > 0)
     order by created_at desc, id desc limit :limit::int) as page
   order by created_at desc, id desc`,
);

const END_OF_WINDOW = namedStatement(
  'gallery_end_of_window',
  `select ${POSITION} as position from (select created_at, id ${SCANNED}) as scanned
   order by created_at desc, id desc offset :skip::int limit 1`,
);

export interface TaskPage {
  tasks: ListedTask[];
  /** The cursor of the next page; null: there are no more tasks. */
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
  const period = { from: filter.from ?? '-infinity', until: filter.until ?? 'infinity' };
  const limit = page.limit + 1;
  const start =
    page.after === undefined ? { afterAt: 'infinity', afterId: '' } : parseCursor(page.after);
  // Most pages fill up after a few tasks; only a search with rare matches scans many.
  let found: TaskPage = { tasks: [], next: null };
  for (const window of [2 * limit, WINDOW]) {
    const range = { accountId, ...period, ...start, window };
    const values = LIST.values({ ...range, limit, surfaces, state, model, key, text });
    const rows = await db.query<ListedTask>(LIST, values);
    const tasks = rows.slice(0, page.limit);
    if (rows.length === limit) return { tasks, next: tasks.at(-1)?.position ?? null };
    found = { tasks, next: await endOfWindow(db, range) };
    if (found.next === null) return found;
  }
  return found;
}

/** Null: there are no more tasks. */
async function endOfWindow(
  db: Database,
  range: Cursor & { accountId: string; from: Date | string; until: Date | string; window: number },
): Promise<string | null> {
  const values = END_OF_WINDOW.values({ ...range, skip: range.window - 1 });
  const [end] = await db.query<{ position: string }>(END_OF_WINDOW, values);
  return end?.position ?? null;
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
interface RecordedFile {
  id: string;
  role: string;
  state: 'writing' | 'ready' | 'deleting' | 'deleted';
  media_type: string;
  size_bytes: number | null;
  delete_after: string | null;
  taken_down_at: string | null;
}

/** Why a task moved, as its account may see it. */
interface HistoryCause {
  cancelled_by?: 'customer' | 'operator';
  /** The reason of an operator who cancelled the task. */
  operator?: string | null;
}

export interface TaskRecord extends Task {
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
    /** Missing on tasks that ended before there were credentials. */
    credentials?: Credentials;
  } | null;
  /** Its transitions after the create, oldest first. */
  history: { at: string; phase: Phase; cause: HistoryCause | null }[];
  files: RecordedFile[];
}

const EXTRA = 'tasks.api_key_id, tasks.request_id, tasks.output_facts';

export const readTaskRecord = queryFirst<[accountId: string, id: string], TaskRecord>(
  'gallery_task',
  `select ${TASK_COLUMNS}, ${EXTRA}, ${HISTORY_OF_TASK} as history,
     ${objectsOfTask('tasks.id')} as files
   from tasks where account_id = $1 and id = $2`,
);

export const accountPoster = queryFirst<
  [accountId: string, taskId: string],
  { id: string; size_bytes: number }
>(
  'gallery_poster',
  `select p.id, p.size_bytes from tasks cross join lateral (${posterOf('tasks.id')}) p
   where tasks.account_id = $1 and tasks.id = $2`,
);

/** An account's tasks created on one day with one model and API key. */
export interface UsageRow {
  /** UTC, as 2026-11-22. */
  day: string;
  model: string;
  surface: string;
  /** null: a task of the website. */
  api_key_id: string | null;
  tasks: number;
  videos: number;
  failed: number;
  /** Charged or reserved, minus refunds. */
  credits: number;
}

const READ = namedStatement(
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
  return db.query<UsageRow>(READ, READ.values({ accountId, ...wanted }));
}
