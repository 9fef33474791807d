import type { Database, Queryable, Statement, Transaction } from '../../src/database/database.ts';

/** Where a process shall die, or be paused. */
export interface CrashPlan {
  /** Points count from the first statement that has this among its values. */
  key: string;
  /** The how-manieth point it is, from 1, or the first one of this name; there may be none. */
  at: string;
  /** What the process sends itself there. */
  signal: 'SIGKILL' | 'SIGSTOP';
  /** Hears of each point as it is reached. */
  onPoint(point: number, name: string): void;
}

/** Written again and again, whether there is a task or not. */
const HOUSEKEEPING = ['task_renew', 'local_job_renew', 'object_expire', 'object_abandon'];
/** They look for work, and change something only when they find some. */
const LOOKING = ['task_claim', 'local_job_take'];

/**
 * A database whose process kills or pauses itself just before or just after a statement that
 * writes, or a commit. Between two such points lies at most one other lasting effect: the file that
 * a statement before announces and the one after it makes count.
 */
export function withCrashPoints(db: Database, plan: CrashPlan): Database {
  let reached = 0;
  let isArmed = false;
  let isSpent = false;
  const point = (name: string) => {
    if (!isArmed) return;
    reached += 1;
    plan.onPoint(reached, name);
    if (isSpent || ![String(reached), name].includes(plan.at)) return;
    isSpent = true;
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
      isArmed ||= values.includes(plan.key);
      const run = () => inner.query<Row>(sql, values);
      if (LOOKING.includes(sql.name)) {
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
