import { namedStatement, type Queryable, query } from '../database/database.ts';
import { startInterval } from '../kernel/interval.ts';
import type { Log } from '../kernel/log.ts';
import { networkOf } from './client-network.ts';

interface Use {
  requests: number;
  /** The last request, in milliseconds of `now`. */
  usedAt: number;
  /** The last request's address; only its network is written. */
  address: string;
}

const MAX_KEYS = 500;

// Rows are locked in key order, so that two processes can't deadlock. All requests since the last
// flush count on the day of the newest. An erased account's keys are revoked: their addresses
// stay erased.
const WRITE = namedStatement(
  'key_usage_write',
  `with used as materialized (
     select key_id, requests, clock_now() - seconds_ago * interval '1 second' as at, address
     from unnest(:keyIds::text[], :requests::bigint[], :secondsAgo::float8[], :addresses::text[])
       as noted (key_id, requests, seconds_ago, address)),
   counted as (
     insert into api_key_requests as r (api_key_id, day, requests)
     select key_id, (at at time zone 'UTC')::date, requests from used order by key_id
     on conflict (api_key_id, day) do update set requests = r.requests + excluded.requests)
   insert into api_key_uses as u (api_key_id, last_used_at, last_used_address)
   select key_id, at, case when k.revoked_at is null then address end
   from used join api_keys k on k.id = key_id order by key_id
   on conflict (api_key_id) do update set last_used_at = excluded.last_used_at,
     last_used_address = excluded.last_used_address
     where u.last_used_at < excluded.last_used_at`,
);

/**
 * Counts API key requests without a write per request. A crash loses the counts since the last
 * flush.
 * @param now monotonic milliseconds
 */
export function openKeyUsage(db: Queryable, now = () => performance.now()) {
  let uses = new Map<string, Use>();
  const add = (keyId: string, use: Use) => {
    const earlier = uses.get(keyId);
    uses.set(keyId, { ...use, requests: use.requests + (earlier?.requests ?? 0) });
  };
  const keep = (unwritten: [string, Use][]) => {
    const newer = uses;
    uses = new Map(unwritten);
    for (const [keyId, use] of newer) add(keyId, use);
  };
  return {
    note: (keyId: string, address: string) => add(keyId, { requests: 1, usedAt: now(), address }),
    /** A failed flush keeps the counts for the next one. */
    async flush() {
      const noted = [...uses];
      uses = new Map();
      for (let first = 0; first < noted.length; first += MAX_KEYS) {
        await write(db, noted.slice(first, first + MAX_KEYS), now()).catch((error) => {
          keep(noted.slice(first));
          throw error;
        });
      }
    },
  };
}

const WRITE_SECONDS = 60;

/** Counts API key requests; flushes once a minute and at the stop. */
export function followKeyUsage({ db, log }: { db: Queryable; log: Log }) {
  const usage = openKeyUsage(db);
  const following = new AbortController();
  const options = { name: 'writing the uses of API keys', log, signal: following.signal };
  startInterval(WRITE_SECONDS, options, () => usage.flush());
  return {
    note: usage.note,
    async stop(): Promise<void> {
      following.abort();
      await usage.flush().catch((err) => log.warn({ err }, 'the latest API key usage was lost'));
    },
  };
}

async function write(db: Queryable, uses: [string, Use][], now: number): Promise<void> {
  const values = WRITE.values({
    keyIds: uses.map(([keyId]) => keyId),
    requests: uses.map(([, { requests }]) => requests),
    secondsAgo: uses.map(([, { usedAt }]) => (now - usedAt) / 1000),
    addresses: uses.map(([, { address }]) => networkOf(address)),
  });
  await db.query(WRITE, values);
}

export interface RequestsOfDay {
  /** Such as 2026-11-22. */
  day: string;
  requests: number;
}

const readRequests = query<[keyIds: string[], days: number], RequestsOfDay & { id: string }>(
  'key_requests',
  `select k.id, d.day::date::text as day, coalesce(r.requests, 0)::int8 as requests
   from unnest($1::text[]) as k (id)
   cross join generate_series((clock_now() at time zone 'UTC')::date - $2::int + 1,
     (clock_now() at time zone 'UTC')::date, interval '1 day') as d (day)
   left join api_key_requests r on r.api_key_id = k.id and r.day = d.day
   order by d.day`,
);

/** Admitted requests, oldest day first. */
export async function recentRequests(
  db: Queryable,
  keyIds: string[],
  days: number,
): Promise<Map<string, RequestsOfDay[]>> {
  const byKey = new Map(keyIds.map((id): [string, RequestsOfDay[]] => [id, []]));
  for (const { id, ...usage } of await readRequests(db, keyIds, days)) byKey.get(id)?.push(usage);
  return byKey;
}
