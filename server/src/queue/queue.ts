import { PgBoss } from 'pg-boss';
import type { Database, Statement, Transaction } from '../database/database.ts';
import { statement } from '../database/database.ts';
import type { Log } from '../kernel/log.ts';

/**
 * The two queues of wake-ups. To download and decode clients' media takes long, and clients can
 * make it take longer. So tasks with such media have their own queue: they never delay polls,
 * submits and outputs.
 */
export const QUEUE_NAMES = ['task', 'ingest'] as const;
export type QueueName = (typeof QUEUE_NAMES)[number];

/**
 * Wake-ups for tasks. A wake-up has only the task's id; the task's row says which step is next.
 */
export interface Queue {
  /** Adds a wake-up, due at once, to the caller's transaction. */
  enqueue(tx: Transaction, queueName: QueueName, taskId: string): Promise<void>;
  /** Notifies the workers of all processes of new wake-ups. To be called after their commit. */
  wake(queueName: QueueName): void;
  /** Calls `handle` for each wake-up, and waits for its promise before the next call. */
  work(queueName: QueueName, handle: (taskId: string) => Promise<void>): Promise<void>;
  /** Fetches no more wake-ups, and resolves when those already fetched have been handled. */
  stopWorking(): Promise<void>;
  close(): Promise<void>;
}

const SCHEMA = 'pgboss';

/** Connections of the queue's own pool. A worker has one more, which listens for wake-ups. */
const QUEUE_CONNECTIONS = 4;

/**
 * pg-boss hands these to pg. When the database does not respond, a statement fails and its
 * connection is destroyed. Maintenance may take longer than the statements of a request.
 */
const CONNECTION_LIMITS = {
  connectionTimeoutMillis: 3000,
  query_timeout: 5000,
  statement_timeout: 4500,
  idle_in_transaction_session_timeout: 5000,
  keepAlive: true,
  keepAliveInitialDelayMillis: 5000,
  notifyHeartbeatIntervalMs: 5000,
  notifyHeartbeatTimeoutMs: 3000,
};

// Workers of pg-boss LISTEN on this channel. The notifications of pg-boss are off, because NOTIFY
// inside the create transaction makes all commits wait for one lock (measured: 4,000/s become
// 1,200/s). So the queue notifies after the commit, with one NOTIFY for several wake-ups.
const NOTIFY = statement(
  'queue_notify',
  `select pg_notify('pgboss_' || left(encode(sha224('${SCHEMA}'::bytea), 'hex'), 24), $1)`,
);

/**
 * How long a wake-up is kept after it was handled, and how often such wake-ups are deleted. With
 * the library's own pause of a day, the table would keep a day of them.
 */
const KEEP_SECONDS = 60;

/**
 * Opens the queue.
 * @param options.work whether this process will call `work`: then it also supervises the queue
 * @param options.maintainSeconds pause between two deletions of handled wake-ups
 */
export async function openQueue(options: {
  url: string;
  db: Database;
  log: Log;
  work: boolean;
  maintainSeconds?: number;
}): Promise<Queue> {
  const { url, db, log, work, maintainSeconds = KEEP_SECONDS } = options;
  const boss = new PgBoss({
    connectionString: url,
    schema: SCHEMA,
    ...CONNECTION_LIMITS,
    max: QUEUE_CONNECTIONS,
    supervise: work,
    superviseIntervalSeconds: maintainSeconds,
    maintenanceIntervalSeconds: maintainSeconds,
    schedule: false,
    useListenNotify: work,
  });
  boss.on('error', (error) => log.warn({ err: error.message }, 'the queue had an error'));
  boss.on('warning', (warning) => log.debug({ warning }, 'the queue gave a warning'));
  await boss.start();
  return {
    enqueue: (tx, queueName, taskId) => enqueue(boss, tx, queueName, taskId),
    wake: coalescedWake(db, log),
    work: (queueName, handle) => workQueue(boss, queueName, handle),
    stopWorking: async () => {
      await Promise.all(QUEUE_NAMES.map((queueName) => boss.offWork(queueName, { wait: true })));
    },
    close: () => boss.stop({ graceful: false, close: true }),
  };
}

/**
 * Creates the queue's own schema and the queues. May run again, also in several processes at once.
 */
export async function installQueue(url: string): Promise<void> {
  const boss = new PgBoss({
    connectionString: url,
    schema: SCHEMA,
    max: 1,
    supervise: false,
    schedule: false,
  });
  boss.on('error', () => {});
  await boss.start();
  try {
    for (const queueName of QUEUE_NAMES) {
      // A wake-up is never retried: the sweep finds every due task (decisions/0002).
      await boss.createQueue(queueName, {
        retryLimit: 0,
        deleteAfterSeconds: KEEP_SECONDS,
        retentionSeconds: 86_400,
      });
    }
  } finally {
    await boss.stop({ graceful: false, close: true });
  }
}

// Prepared statements, by text: to plan pg-boss's insert takes 1 ms, and all jobs of a queue have
// the same insert.
const statements = new Map<string, Statement>();

function prepared(text: string): Statement {
  const known = statements.get(text) ?? statement(`queue_${statements.size}`, text);
  statements.set(text, known);
  return known;
}

async function enqueue(boss: PgBoss, tx: Transaction, queueName: QueueName, taskId: string) {
  const db = {
    executeSql: async (text: string, values: unknown[] = []) => ({
      rows: await tx.query(prepared(text), values),
    }),
  };
  await boss.send(queueName, { taskId }, { db });
}

async function workQueue(
  boss: PgBoss,
  queueName: QueueName,
  handle: (taskId: string) => Promise<void>,
) {
  const options = { batchSize: 16, pollingIntervalSeconds: 0.5, notifyPollingIntervalSeconds: 0.5 };
  const id = await boss.work<{ taskId: string }>(queueName, options, async (jobs) => {
    for (const job of jobs) await handle(job.data.taskId);
    boss.notifyWorker(id); // fetches at once: there may be more, and polling would wait
  });
}

/**
 * Sends one NOTIFY at a time per queue, outside transactions. All calls during a NOTIFY share the
 * next one.
 */
function coalescedWake(db: Database, log: Log): (queueName: QueueName) => void {
  const state = new Map<QueueName, 'sending' | 'again'>();
  const send = async (queueName: QueueName): Promise<void> => {
    do {
      state.set(queueName, 'sending');
      await db.query(NOTIFY, [queueName]).catch((error: Error) => {
        log.debug({ err: error.message }, 'a NOTIFY was not sent; polling will find the wake-up');
      });
    } while (state.get(queueName) === 'again');
    state.delete(queueName);
  };
  return (queueName) => {
    if (state.has(queueName)) state.set(queueName, 'again');
    else void send(queueName);
  };
}
