import { setTimeout as delay } from 'node:timers/promises';
import { Connection, STATEMENT_SECONDS, withinSeconds } from '../database/connection.ts';
import { type Database, statement } from '../database/database.ts';
import type { Log } from '../kernel/log.ts';

/**
 * The kind of step that has become due: copying the client's media (`ingest`), submitting
 * (`submit`) or reading a job after its callback (`poll`). A wake-up names no task and may get
 * lost: workers also poll (decisions/0002).
 */
export const WAKE_UPS = ['ingest', 'submit', 'poll'] as const;
export type WakeUp = (typeof WAKE_UPS)[number];

/** Notifications between processes, over the database. */
export type WakeUps = ReturnType<typeof openWakeUps>;

const CHANNEL = 'framewright_wake_up';

// This commit need not reach the disk, since a lost wake-up delays a task by only half a second.
// The NOTIFY is not part of the create's transaction, because Postgres commits transactions with a
// NOTIFY one at a time.
const NOTIFY = statement(
  'wake_up_notify',
  `select set_config('synchronous_commit', 'off', true), pg_notify('${CHANNEL}', $1)`,
);

const PAUSE_SECONDS = 0.005;

const RECONNECT_SECONDS = 1;
/** How often the connection is checked, to detect one that was cut silently. */
const HEARTBEAT_SECONDS = 5;
const RESPONSE_SECONDS = 3;

/** @param deps.url an address whose connections keep their session; used by `listen` only */
export function openWakeUps(deps: { url: string; db: Database; log: Log }) {
  const handlers = new Set<Handler>();
  /** Marks this process's own notifications, which it handles before sending them. */
  const sender = crypto.randomUUID();
  const send = coalesced(async (wakeUp) => {
    for (const handle of handlers) handle(wakeUp);
    await deps.db.query(NOTIFY, [`${sender} ${wakeUp}`]);
  }, deps.log);
  return {
    /** Wakes the workers of all processes, this one's at once. Call it after the commit. */
    send,
    /**
     * Calls `handle` for each wake-up of any process. After a reconnect it calls it once per kind,
     * since wake-ups may have been lost.
     */
    listen(handle: Handler, signal: AbortSignal) {
      handlers.add(handle);
      signal.addEventListener('abort', () => handlers.delete(handle));
      void keepListening({ ...deps, sender, handle, signal });
    },
  };
}

type Handler = (wakeUp: WakeUp) => void;

/** Sends one notification of each kind at a time. Calls made meanwhile share the next one. */
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
