import { PgBoss } from 'pg-boss';
import type { Database, Statement, Transaction } from '../database/database.ts';
import { statement } from '../database/database.ts';
import type { Log } from '../kernel/log.ts';

/**
 * The two queues of wake-ups. Downloads and decodes of clients' media may take long and be made to
 * take long, so they never stand before the polls, submits and deliveries of everyone else.
 */
export const QUEUE_NAMES = ['task', 'ingest'] as const;
export type QueueName = (typeof QUEUE_NAMES)[number];

/** Wake-ups for tasks. The task's row is the truth about work to do; a job only says "look". */
export interface Queue {
  /** Adds a wake-up, due at once, to the caller's transaction. */
  enqueue(tx: Transaction, queueName: QueueName, taskId: string): Promise<void>;
  /** Tells workers of all processes, after the commit, that a queue has work that is due now. */
  wake(queueName: QueueName): void;
  /** Starts handing wake-ups to `handle`, a call for each; it returns when it can take another. */
  work(queueName: QueueName, handle: (taskId: string) => Promise<void>): Promise<void>;
  /** Stops taking wake-ups; those already handed over are the handler's. */
  stopWorking(): Promise<void>;
  close(): Promise<void>;
}

const SCHEMA = 'pgboss';

// pg-boss listens on this channel when a worker uses LISTEN. Its own notifications stay off:
// NOTIFY inside the create transaction makes commits queue behind one lock (measured: 4,000/s
// become 1,200/s). So we notify after the commit, and coalesce.
const NOTIFY = statement(
  'queue_notify',
  `select pg_notify('pgboss_' || left(encode(sha224('${SCHEMA}'::bytea), 'hex'), 24), $1)`,
);

/**
 * Opens the queue.
 * @param options.work whether this process will call `work`: then it also supervises the queue
 */
export async function openQueue(options: {
  url: string;
  db: Database;
  log: Log;
  work: boolean;
}): Promise<Queue> {
  const { url, db, log, work } = options;
  const boss = new PgBoss({
    connectionString: url,
    schema: SCHEMA,
    max: 4,
    supervise: work,
    schedule: false,
    useListenNotify: work,
  });
  boss.on('error', (error) => log.warn({ err: error.message }, 'the queue met an error'));
  boss.on('warning', (warning) => log.debug({ warning }, 'the queue warns'));
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

/** Creates the queue's own schema and the queues. Safe to run again, also by several at once. */
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
      // A wake-up is never retried: the sweep takes up any task that is due (decisions/0002).
      await boss.createQueue(queueName, {
        retryLimit: 0,
        deleteAfterSeconds: 60,
        retentionSeconds: 86_400,
      });
    }
  } finally {
    await boss.stop({ graceful: false, close: true });
  }
}

// pg-boss's insert is long to plan (1 ms) and the same for all jobs of a queue.
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
    boss.notifyWorker(id); // or it would sleep out its polling interval with more work waiting
  });
}

/** Sends one NOTIFY at a time per queue, outside any transaction; later calls share the next. */
function coalescedWake(db: Database, log: Log): (queueName: QueueName) => void {
  const state = new Map<QueueName, 'sending' | 'again'>();
  const send = async (queueName: QueueName): Promise<void> => {
    do {
      state.set(queueName, 'sending');
      await db.query(NOTIFY, [queueName]).catch((error: Error) => {
        log.debug({ err: error.message }, 'a wake-up was not sent; polling will find the work');
      });
    } while (state.get(queueName) === 'again');
    state.delete(queueName);
  };
  return (queueName) => {
    if (state.has(queueName)) state.set(queueName, 'again');
    else void send(queueName);
  };
}
