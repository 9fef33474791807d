import type { Database, Queryable, Statement, Transaction } from '../../src/database/database.ts';

/** At which point a process kills or pauses itself. */
interface CrashPlan {
  /** Points are counted from the first statement that has this in its values. */
  key: string;
  /** The number of the point, from 1, or a name: then the first point of that name. */
  at: string;
  /** What the process sends itself there. */
  signal: 'SIGKILL' | 'SIGSTOP';
  /** Called with each point when it is reached. */
  onPoint(point: number, name: string): void;
}

/** Written at intervals, whether there is a task or not. */
const HOUSEKEEPING = [
  'task_renew',
  'local_job_renew',
  'object_mark_expired',
  'clock_mark_advance',
  'database_ready',
  'mark_advance',
  'mark_advance_unchanged',
  'worker_report',
];
/** Statements that look for work, and change rows only when they find some. */
const CLAIMS =
  /^(task_claim_|(local_job_take|object_take_marked|cancel_take|webhook_claim|mail_take)$)/;

/**
 * A database whose process kills or pauses itself just before or just after a statement that
 * writes, or a commit. Between two such points there is at most one other lasting effect: a file,
 * for which the statement before registered an object that the statement after makes ready.
 */
export function withCrashPoints(db: Database, plan: CrashPlan): Database {
  let reached = 0;
  let isCounting = false;
  let hasSignalled = false;
  const point = (name: string) => {
    if (!isCounting) return;
    reached += 1;
    plan.onPoint(reached, name);
    if (hasSignalled || ![String(reached), name].includes(plan.at)) return;
    hasSignalled = true;
    process.kill(process.pid, plan.signal);
  };
  const around = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    point(`before ${name}`);
    const result = await work();
    point(`after ${name}`);
    return result;
  };
  const queryOf =
    (inner: Queryable): Queryable['query'] =>
    async <Row extends object>(sql: Statement, values: readonly unknown[] = []) => {
      isCounting ||= JSON.stringify(values).includes(plan.key); // it may be in an array
      const run = () => inner.query<Row>(sql, values);
      if (CLAIMS.test(sql.name)) {
        const rows = await run();
        if (rows.length > 0) point(`after ${sql.name}`);
        return rows;
      }
      const isCounted = !/^\s*select/.test(sql.text) && !HOUSEKEEPING.includes(sql.name);
      return isCounted ? around(sql.name, run) : run();
    };
  const transactionOf = (tx: Transaction): Transaction => ({ ...tx, query: queryOf(tx) });
  return {
    ...db,
    query: queryOf(db),
    async transaction(work) {
      const result = await db.transaction(async (tx) => {
        const inner = await work(transactionOf(tx));
        point('before commit');
        return inner;
      });
      point('after commit');
      return result;
    },
  };
}
