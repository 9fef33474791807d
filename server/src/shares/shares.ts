// The room shares/: public pages of videos, which their owners make and end. Whether a share is open
// is asked at each request, so it ends with its video and its account, whatever removes them.

import { joinAccount } from '../accounts/account-sql.ts';
import { lockAccount } from '../accounts/accounts.ts';
import {
  command,
  type Database,
  namedStatement,
  type Queryable,
  query,
  queryFirst,
  queryValue,
  type Transaction,
  whether,
} from '../database/database.ts';
import { newId } from '../kernel/ids.ts';
import { startInterval } from '../kernel/interval.ts';
import type { Log } from '../kernel/log.ts';
import type { Links } from '../storage/links.ts';
import { posterOf, videoOf } from '../storage/object-sql.ts';
import { MADE_VIDEOS } from '../tasks/task-sql.ts';

/** SQL: the share `s` has not ended by itself. */
const IS_OPEN = '(s.ended_at is null and (s.ends_at is null or s.ends_at > clock_now()))';

const COLUMNS = 's.id, s.task_id, s.shows_prompt, s.created_at, s.ends_at, s.views';

export interface Share {
  id: string;
  task_id: string;
  shows_prompt: boolean;
  created_at: Date;
  /** null: when its owner ends it. */
  ends_at: Date | null;
  views: number;
}

const endPast = command<[taskId: string], Transaction>(
  'share_end_past',
  `update shares set ended_at = ends_at
   where task_id = $1 and ended_at is null and ends_at <= clock_now()`,
);

const MAKE = namedStatement(
  'share_make',
  `insert into shares as s (id, account_id, task_id, shows_prompt, ends_at)
   select :id, t.account_id, t.id, :showsPrompt, clock_now() + :days::int * interval '1 day'
   from ${MADE_VIDEOS} t ${joinAccount('t.account_id')} and a.disabled_at is null
   where t.id = :taskId and t.account_id = :accountId and exists (${videoOf('t.id')})
   on conflict (task_id) where ended_at is null
     do update set shows_prompt = excluded.shows_prompt, ends_at = excluded.ends_at
   returning ${COLUMNS}`,
);

/**
 * Makes the share of a video. One that is open stays, with these choices.
 * @returns undefined if the account has no such video, or only a test video
 */
export function makeShare(
  db: Database,
  wanted: { accountId: string; taskId: string; showsPrompt: boolean; days: number | null },
): Promise<Share | undefined> {
  return db.transaction(async (tx) => {
    await lockAccount(tx, wanted.accountId); // closing it ends its shares
    await endPast(tx, wanted.taskId);
    const [share] = await tx.query<Share>(MAKE, MAKE.values({ ...wanted, id: newId('share') }));
    return share;
  });
}

interface ListedShare extends Share {
  prompt: string | null;
  is_open: boolean;
}

const listing = (columns: string, isOwn: string) =>
  `select ${COLUMNS}, ${columns}, ${IS_OPEN} and exists (${videoOf('s.task_id')}) as is_open
   from shares s left join ${MADE_VIDEOS} t on t.id = s.task_id
   where ${isOwn} and ($2::text is null or s.task_id = $2)
     and ($3::text is null or s.id < $3)
   order by s.id desc limit $4`;

type Page = [taskId: string | null, before: string | null, limit: number];

/** The shares of an account, or of one of its videos, the newest first. */
export const listShares = query<[accountId: string, ...Page], ListedShare>(
  'share_list',
  listing('t.prompt', 's.account_id = $1'),
);

/** The same for operators; null: of all accounts. */
export const listAllShares = query<
  [accountId: string | null, ...Page],
  Omit<ListedShare, 'prompt'> & { account_id: string; ended_at: Date | null }
>('share_list_all', listing('s.account_id, s.ended_at', '($1::text is null or s.account_id = $1)'));

/**
 * @param accountId null: an operator ends it
 * @returns false if the account has no such share, or it has ended
 */
export const endShare = whether<[id: string, accountId: string | null]>(
  'share_end',
  `update shares set ended_at = clock_now()
   where id = $1 and ($2::text is null or account_id = $2) and ended_at is null returning id`,
);

export const taskOfShare = queryValue<[id: string], string | undefined>(
  'share_task',
  'select task_id from shares where id = $1',
  undefined,
);

/** The share, open or ended, whose link is in a text. */
export function shareIdIn(text: string): string | undefined {
  const [, id] = /\/(?:s|embed)\/(\w{24})[\w-]{22}/.exec(text) ?? [];
  return id && `share_${id}`;
}

/** The task of that share. */
export async function sharedTaskIn(db: Queryable, text: string): Promise<string | undefined> {
  const id = shareIdIn(text);
  return id === undefined ? undefined : taskOfShare(db, id);
}

/** Ends all shares of an account that its owner closes: reopening it brings none back. */
export const endSharesOf = command<[accountId: string], Transaction>(
  'share_end_all',
  'update shares set ended_at = clock_now() where account_id = $1 and ended_at is null',
);

/** The shares of an erased account: their links stop working. */
export const eraseOf = command<[accountId: string], Transaction>(
  'share_erase',
  'delete from shares where account_id = $1',
);

interface OpenShare {
  id: string;
  /** null: its owner does not show it. */
  prompt: string | null;
  width: number;
  height: number;
  /** Sent today. */
  bytes_today: number;
  /** Until the next day (UTC). */
  seconds_left: number;
  video: Stored;
  poster: Stored | null;
}

interface Stored {
  id: string;
  size_bytes: number;
}

const TODAY = `(clock_now() at time zone 'UTC')::date`;

const findOpen = queryFirst<[id: string], OpenShare>(
  'share_find',
  `select s.id, case when s.shows_prompt then t.prompt end as prompt,
     (t.output_facts->>'width')::int as width, (t.output_facts->>'height')::int as height,
     to_jsonb(v) as video, to_jsonb(p) as poster,
     case when s.traffic_day = ${TODAY} then s.traffic_bytes else 0 end as bytes_today,
     ceil(extract(epoch from (${TODAY} + 1)::timestamp at time zone 'UTC' - clock_now()))::int
       as seconds_left
   from shares s join ${MADE_VIDEOS} t on t.id = s.task_id
     ${joinAccount('s.account_id')} and a.disabled_at is null
     cross join lateral (${videoOf('t.id')}) v left join lateral (${posterOf('t.id')}) p on true
   where s.id = $1 and ${IS_OPEN}`,
);

/** The files of a share by the names in its links. */
function filesOf({ video, poster }: OpenShare) {
  const files = [
    { ...video, name: 'video.mp4', role: 'output', media_type: 'video/mp4' } as const,
    poster &&
      ({ ...poster, name: 'poster.webp', role: 'poster', media_type: 'image/webp' } as const),
  ];
  return files.filter((file) => file !== null);
}

// The rows are locked in order, so that two processes can't deadlock.
const COUNT = namedStatement(
  'share_count',
  `with locked as materialized (
     select id from shares where id = any(:ids::text[]) order by id for no key update)
   update shares s set views = s.views + noted.views, traffic_day = ${TODAY},
     traffic_bytes = greatest(0, noted.bytes
       + case when s.traffic_day = ${TODAY} then s.traffic_bytes else 0 end)
   from unnest(:ids::text[], :views::bigint[], :bytes::bigint[]) as noted (id, views, bytes)
     join locked using (id)
   where s.id = noted.id`,
);

interface Traffic {
  views?: number;
  /** Negative: they were counted and not sent. */
  bytes?: number;
}

export type Shares = ReturnType<typeof openShares>;

/**
 * Finds open shares, and counts their views and bytes without a write per request: a crash loses
 * the counts of the last seconds.
 */
export function openShares(deps: {
  db: Queryable;
  log: Log;
  links: Links;
  /** What a share may send on a day (UTC). */
  dailyBytes: number;
}) {
  const { db, log, links, dailyBytes } = deps;
  const counts = new Map<string, Required<Traffic>>();
  const count = (id: string, { views = 0, bytes = 0 }: Traffic) => {
    const before = counts.get(id);
    counts.set(id, { views: views + (before?.views ?? 0), bytes: bytes + (before?.bytes ?? 0) });
  };
  const flush = async () => {
    const noted = [...counts];
    counts.clear();
    if (noted.length === 0) return;
    const values = COUNT.values({
      ids: noted.map(([id]) => id),
      views: noted.map(([, { views }]) => views),
      bytes: noted.map(([, { bytes }]) => bytes),
    });
    await db.query(COUNT, values).catch((error) => {
      for (const [id, traffic] of noted) count(id, traffic);
      throw error;
    });
  };
  const following = new AbortController();
  const options = { name: 'counting the views of shares', log, signal: following.signal };
  startInterval(COUNT_SECONDS, options, flush);
  return {
    /** The open share of a token; `isOverLimit`: it has sent as much as it may on this day. */
    async find(token: string) {
      const id = links.shareOf(token);
      const share = id === undefined ? undefined : await findOpen(db, id);
      if (!share) return undefined;
      const bytes = share.bytes_today + (counts.get(share.id)?.bytes ?? 0);
      return { ...share, files: filesOf(share), isOverLimit: bytes >= dailyBytes };
    },
    count,
    flush,
    async stop(): Promise<void> {
      following.abort();
      await flush().catch((err) => log.warn({ err }, 'the latest views of shares were lost'));
    },
  };
}

const COUNT_SECONDS = 5;
