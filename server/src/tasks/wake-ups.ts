import { setTimeout as delay } from 'node:timers/promises';
import { Connection, STATEMENT_SECONDS, withinSeconds } from '../database/connection.ts';
import { type Database, statement } from '../database/database.ts';
import type { Log } from '../kernel/log.ts';

/**
 * What a wake-up says: tasks have become due whose next step copies the client's media (`ingest`),
 * submits (`submit`), or reads a job of which a callback came (`poll`). It names no task, and it
 * may get lost: workers also look by themselves (decisions/0002).
 */
export const WAKE_UPS = ['ingest', 'submit', 'poll'] as const;
export type WakeUp = (typeof WAKE_UPS)[number];

/** Notifications between processes, over the database. */
export interface WakeUps {
  /**
   * Wakes the workers of all processes, those of this process without a round trip to the database.
   * Call it after the commit that made the tasks due.
   */
  send(wakeUp: WakeUp): void;
  /**
   * Calls `handle` for each wake-up of any process until the signal aborts. After a time without a
   * connection it calls it once for each kind, since wake-ups may have been lost.
   */
  listen(handle: (wakeUp: WakeUp) => void, signal: AbortSignal): void;
}

const CHANNEL = 'framewright_wake_up';

// A NOTIFY is a commit. This one need not be on disk, since a lost wake-up delays a task by half a
// second only. It is not in the transaction of the create, because Postgres commits one transaction
// with a NOTIFY at a time.
const NOTIFY = statement(
  'wake_up_notify',
  `select set_config('synchronous_commit', 'off', true), pg_notify('${CHANNEL}', $1)`,
);

/** Pause between two notifications of one kind from one process. */
const PAUSE_SECONDS = 0.005;

/** The pause before a lost connection is made again. */
const RECONNECT_SECONDS = 1;
/** How often the connection is tried, so that one that was cut without a notice is noticed. */
const HEARTBEAT_SECONDS = 5;
const RESPONSE_SECONDS = 3;

/**
 * Opens the wake-ups of a process.
 * @param deps.url an address whose connections keep their session; used by `listen` only
 */
export function openWakeUps(deps: { url: string; db: Database; log: Log }): WakeUps {
  const handlers = new Set<Handler>();
  /** Marks the notifications of this process, which it has handled before it sends them. */
  const sender = crypto.randomUUID();
  const send = coalesced(async (wakeUp) => {
    for (const handle of handlers) handle(wakeUp);
    await deps.db.query(NOTIFY, [`${sender} ${wakeUp}`]);
  }, deps.log);
  return {
    send,
    listen(handle, signal) {
      handlers.add(handle);
      signal.addEventListener('abort', () => handlers.delete(handle));
      void keepListening({ ...deps, sender, handle, signal });
    },
  };
}

type Handler = (wakeUp: WakeUp) => void;

/** Sends one at a time of each kind. All calls during a notification share the next one. */
function coalesced(notify: (wakeUp: WakeUp) => Promise<unknown>, log: Log) {
  const state = new Map<WakeUp, 'sending' | 'again'>();
  const run = async (wakeUp: WakeUp): Promise<void> => {
    do {
      state.set(wakeUp, 'sending');
      await notify(wakeUp).catch((error: Error) => {
        log.debug({ err: error.message }, 'a wake-up was not sent; workers will find the task');
      });
      await delay(PAUSE_SECONDS * 1000, undefined, { ref: false });
    } while (state.get(wakeUp) === 'again');
    state.delete(wakeUp);
  };
  return (wakeUp: WakeUp) => {
    if (state.has(wakeUp)) state.set(wakeUp, 'again');
    else void run(wakeUp);
  };
}

interface Listening {
  url: string;
  log: Log;
  /** Its notifications are left out. */
  sender: string;
  handle: Handler;
  signal: AbortSignal;
}

async function keepListening(listening: Listening): Promise<void> {
  const { log, signal } = listening;
  while (!signal.aborted) {
    await listenOnce(listening).catch((error: Error) => {
      if (!signal.aborted) log.debug({ err: error.message }, 'wake-ups are not received for now');
    });
    await delay(RECONNECT_SECONDS * 1000, undefined, { signal, ref: false }).catch(() => {});
  }
}

/** Listens until the signal aborts. @throws when the connection fails */
async function listenOnce({ url, sender: own, handle, signal }: Listening): Promise<void> {
  const settings = { connectionString: url, statement_timeout: STATEMENT_SECONDS * 1000 };
  const client = new Connection(settings);
  try {
    await client.connect();
    client.on('notification', ({ payload = '' }) => {
      const [sender, kind] = payload.split(' ');
      const wakeUp = WAKE_UPS.find((known) => known === kind);
      if (wakeUp && sender !== own) handle(wakeUp);
    });
    await withinSeconds(RESPONSE_SECONDS, client, client.query(`listen ${CHANNEL}`));
    for (const wakeUp of WAKE_UPS) handle(wakeUp); // some may have been lost before
    while (!signal.aborted) {
      await delay(HEARTBEAT_SECONDS * 1000, undefined, { signal, ref: false });
      await withinSeconds(RESPONSE_SECONDS, client, client.query('select 1'));
    }
  } finally {
    await client.end().catch(() => {});
  }
}
