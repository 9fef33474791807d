import { setTimeout as delay } from 'node:timers/promises';
import { TOUCH_WINDOWS } from './accounts/rate-window.ts';
import { type Database, type Queryable, statement } from './database/database.ts';
import type { Log } from './kernel/log.ts';
import { TOUCH_LEDGER } from './ledger/ledger.ts';
import { TOUCH_TASKS } from './tasks/create/new-task.ts';

/**
 * Takes a create's table locks without writing a row. It fails on a read-only standby, and on
 * tables of the same names in another schema.
 */
const READY = statement(
  'database_ready',
  `with ${TOUCH_WINDOWS}, ${TOUCH_TASKS}, ${TOUCH_LEDGER}
   select`,
);

/** After this time the answer is "not ready": readiness probes don't wait longer. */
const RESPONSE_SECONDS = 2;
/** A check this slow is waiting for a lock, or for an unresponsive database. */
const SLOW_SECONDS = 1;
/** How often a process checks by itself, so that locks are logged without a monitor. */
export const WATCH_SECONDS = 10;

/**
 * Whether requests can be handled now. Like a request, the check takes a connection from the pool
 * and touches a create's tables. If the check waits for a lock, the log names the holder.
 */
export async function isReady({ db, log }: { db: Database; log: Log }): Promise<boolean> {
  const stopped = new AbortController();
  const { signal } = stopped;
  const response = db.query(READY).then(
    () => true,
    () => false,
  );
  const slow = delay(SLOW_SECONDS * 1000, undefined, { signal });
  void slow.then(() => logBlockers({ db, log })).catch(() => {});
  const late = delay(RESPONSE_SECONDS * 1000, false, { signal }).catch(() => false);
  return Promise.race([response, late]).finally(() => stopped.abort());
}

/** A session that holds a lock others wait for, and itself waits for none. */
interface Blocker {
  pid: number;
  application: string;
  role: string;
  state: string;
  transaction_seconds: number;
  waiting: number;
  locks: string;
}

// Shows only locks of the service's own tables that keep others from writing.
const BLOCKERS = statement(
  'database_blockers',
  `with pairs as (
     select waiter.pid as waiter, blocker from pg_stat_activity waiter,
       unnest(pg_blocking_pids(waiter.pid)) as blocker
     where waiter.datname = current_database() and waiter.wait_event_type = 'Lock')
   select holder.pid, coalesce(application_name, '') as application, usename::text as role,
     coalesce(state, '') as state, count(distinct waiter)::int as waiting,
     extract(epoch from clock_timestamp() - xact_start)::float8 as transaction_seconds,
     (select string_agg(distinct relation::regclass || ' ' || mode, ', ') from pg_locks
       where pg_locks.pid = holder.pid and granted and relation::regclass::text !~ '^pg_'
         and mode ~ 'Exclusive|^ShareLock') as locks
   from pairs join pg_stat_activity holder on holder.pid = blocker
   where blocker not in (select waiter from pairs)
   group by holder.pid, application, role, state, xact_start
   order by waiting desc limit 3`,
);

async function logBlockers({ db, log }: { db: Queryable; log: Log }): Promise<void> {
  for (const holder of await db.query<Blocker>(BLOCKERS)) {
    log.error(holder, 'statements wait for a lock that another session holds');
  }
}
