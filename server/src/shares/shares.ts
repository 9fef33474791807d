// The room shares/: public pages of videos, which their owners make and end. Whether a share is
// open is asked at each request, so it ends with its video and its account, whatever removes them.

import type { ServerResponse } from 'node:http';
import { joinAccount } from '../accounts/account-sql.ts';
import { lockAccount } from '../accounts/accounts.ts';
import {
  command,
  type Database,
  namedStatement,
  type Queryable,
  query,
  queryColumn,
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

/** SQL: the share `s` itself has not ended; its video or account may be gone. */
const IS_OPEN = '(s.ended_at is null and (s.ends_at is null or s.ends_at > clock_now()))';

const COLUMNS = 's.id, s.task_id, s.shows_prompt, s.created_at, s.ends_at, s.views';

export interface Share {
  id: string;
  task_id: string;
  shows_prompt: boolean;
  created_at: Date;
  /** null: not before its owner ends it. */
  ends_at: Date | null;
  views: number;
}

/** Ends a share whose time is over, so that its video may be shared again. */
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
 * Makes the share of a video. If it has an open share, that one stays and gets these choices.
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

/** The shares of an account or a video, for operators; null: of all accounts. */
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

/** The task of the share whose link is in a text. */
export async function sharedTaskIn(db: Queryable, text: string): Promise<string | undefined> {
  const id = shareIdIn(text);
  return id === undefined ? undefined : taskOfShare(db, id);
}

/** Ends all shares of an account that its owner closes: reopening it brings none back. */
export const endSharesOf = command<[accountId: string], Transaction>(
  'share_end_all',
  'update shares set ended_at = clock_now() where account_id = $1 and ended_at is null',
);

/** Deletes the shares of an account: their links stop working. */
export const eraseOf = command<[accountId: string], Transaction>(
  'share_erase',
  'delete from shares where account_id = $1',
);

interface OpenShare {
  id: string;
  /** null: the owner chose not to show it. */
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

/** The open share `s`, its task `t`, and the stored video `v`. */
const OPEN = `shares s join ${MADE_VIDEOS} t on t.id = s.task_id and ${IS_OPEN}
     ${joinAccount('s.account_id')} and a.disabled_at is null
     cross join lateral (${videoOf('t.id')}) v`;

const findOpen = queryFirst<[id: string], OpenShare>(
  'share_find',
  `select s.id, case when s.shows_prompt then t.prompt end as prompt,
     (t.output_facts->>'width')::int as width, (t.output_facts->>'height')::int as height,
     to_jsonb(v) as video, to_jsonb(p) as poster,
     case when s.traffic_day = ${TODAY} then s.traffic_bytes else 0 end as bytes_today,
     ceil(extract(epoch from (${TODAY} + 1)::timestamp at time zone 'UTC' - clock_now()))::int
       as seconds_left
   from ${OPEN} left join lateral (${posterOf('t.id')}) p on true
   where s.id = $1`,
);

const openAmong = queryColumn<[ids: string[]], string>(
  'share_open_among',
  `select s.id from ${OPEN} where s.id = any($1)`,
);

/** A share's files, with the names that they have in its links. */
function filesOf({ video, poster }: OpenShare) {
  const files = [
    { ...video, name: 'video.mp4', role: 'output', media_type: 'video/mp4' } as const,
    poster &&
      ({ ...poster, name: 'poster.webp', role: 'poster', media_type: 'image/webp' } as const),
  ];
  return files.filter((file) => file !== null);
}

// The rows are locked in order, so that two processes can't deadlock. A correction that comes after
// midnight must not make the new day negative.
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

/** Counted in this process, and not yet in the database. */
interface Traffic {
  views: number;
  /** Negative: more was counted before than was sent. */
  bytes: number;
}

interface Counted extends Traffic {
  /** Of all bytes counted by this process, those that are in the database now. */
  written: number;
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
  const counts = new Map<string, Counted>();
  const countOf = (id: string): Counted => counts.get(id) ?? { views: 0, bytes: 0, written: 0 };
  const add = (id: string, { views = 0, bytes = 0, written = 0 }: Partial<Counted>) => {
    const { views: seen, bytes: sent, written: before } = countOf(id);
    counts.set(id, { views: seen + views, bytes: sent + bytes, written: before + written });
  };
  /** @param writtenBefore as of before `bytes_today` was read, which may lack later writes */
  const isOverLimit = ({ id, bytes_today: stored }: OpenShare, writtenBefore: number) => {
    const { bytes: unwritten, written } = countOf(id);
    return stored + unwritten + Math.max(0, written - writtenBefore) >= dailyBytes;
  };
  const write = async () => {
    const noted: (Traffic & { id: string })[] = [];
    for (const [id, { views, bytes }] of counts) {
      if (views === 0 && bytes === 0) counts.delete(id);
      else noted.push({ id, views, bytes });
    }
    if (noted.length === 0) return;
    const values = COUNT.values({
      ids: noted.map(({ id }) => id),
      views: noted.map(({ views }) => views),
      bytes: noted.map(({ bytes }) => bytes),
    });
    await db.query(COUNT, values);
    for (const { id, views, bytes } of noted) {
      add(id, { views: -views, bytes: -bytes, written: bytes });
    }
  };
  let lastFlush = Promise.resolve();
  const flush = () => {
    lastFlush = lastFlush.catch(() => {}).then(write); // one at a time
    return lastFlush;
  };
  /** The responses that are being sent, with their shares. */
  const sending = new Map<ServerResponse, string>();
  const cutEnded = async () => {
    if (sending.size === 0) return;
    const open = new Set(await openAmong(db, [...new Set(sending.values())]));
    for (const [response, id] of sending) if (!open.has(id)) response.destroy();
  };
  const following = new AbortController();
  const options = { name: 'counting the views of shares', log, signal: following.signal };
  const runNow = startInterval(COUNT_SECONDS, options, () => flush().then(cutEnded));
  return {
    /** The open share of a token; `isOverLimit`: it has sent as much as it may on this day. */
    async find(token: string) {
      const id = links.shareOf(token);
      if (id === undefined) return undefined;
      const { written } = countOf(id);
      const share = await findOpen(db, id);
      if (!share) return undefined;
      return {
        ...share,
        files: filesOf(share),
        isOverLimit: isOverLimit(share, written),
        /**
         * Counts the bytes of a response that begins, less those that are not sent. Cuts the
         * response off within seconds when the share ends.
         * @returns false if the share has sent as much as it may on this day
         */
        begin(response: ServerResponse, bytes: number): boolean {
          if (isOverLimit(share, written)) return false;
          add(id, { bytes });
          // Until the database has these bytes, each other process may send as many.
          if (countOf(id).bytes >= dailyBytes / 10) runNow();
          sending.set(response, id);
          const { socket } = response;
          const before = socket?.bytesWritten ?? 0;
          response.once('close', () => {
            sending.delete(response);
            const sent = socket ? socket.bytesWritten - before : bytes;
            if (sent < bytes) add(id, { bytes: sent - bytes });
          });
          return true;
        },
      };
    },
    countView: (id: string) => add(id, { views: 1 }),
    flush,
    cutEnded,
    async stop(): Promise<void> {
      following.abort();
      await flush().catch((err) => log.warn({ err }, 'the latest views of shares were lost'));
    },
  };
}

const COUNT_SECONDS = 5;
