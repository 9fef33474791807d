import { auditOrders } from '../billing/audit-orders.ts';
import { type Catalog, modelNamed } from '../catalog/catalog.ts';
import { creditsBy } from '../catalog/price.ts';
import { readCatalog } from '../catalog/stored-models.ts';
import type { Database, Queryable } from '../database/database.ts';
import {
  type AuditedReservation,
  auditedReservations,
  auditLedger,
  LEDGER_SIZES,
} from '../ledger/audit.ts';
import { checkPages, type Report, runCheck } from '../ledger/audit-pages.ts';
import { partsOf, TEST_SURFACE } from '../ledger/transfer.ts';
import {
  AUDITED_CHECKS,
  AUDITED_PAGE,
  type AuditedTask,
  RESERVED_WITHOUT_TASK,
} from './listings/audited-tasks.ts';

/** Rows read at a time: few, so that each snapshot ends within a second. */
const SIZES = { ...LEDGER_SIZES, tasks: 2000, orders: 500 };
/** The most problems that are kept; the others are only counted. */
const MAX_PROBLEMS = 1000;

export interface AuditResult {
  ok: boolean;
  /** One sentence for each contradiction, the first thousand of them. */
  problems: string[];
  /** How many contradictions there are, if `problems` does not have all of them. */
  found?: number;
}

/**
 * Proves that balances, transfers, tasks, attempts, objects and keys agree. Reads the accounts, the
 * transfers and the tasks in pages, each in a short snapshot of its own (decisions/0014).
 * @param report receives each problem when it is found
 */
export async function audit(
  db: Pick<Database, 'snapshot'>,
  report: Report = () => {},
  sizes = SIZES,
): Promise<AuditResult> {
  const problems: string[] = [];
  let found = 0;
  const add = (problem: string) => {
    found += 1;
    if (problems.length < MAX_PROBLEMS) problems.push(problem);
    report(problem);
  };
  await auditLedger(db, {
    report: add,
    sizes,
    checkReserved: (tx, taskIds) =>
      runCheck(tx, RESERVED_WITHOUT_TASK, { values: [taskIds], report: add }),
  });
  await auditOrders(db, sizes, add);
  await auditTasks(db, sizes.tasks, add);
  const ok = found === 0;
  return found > problems.length ? { ok, problems, found } : { ok, problems };
}

async function auditTasks(
  db: Pick<Database, 'snapshot'>,
  pageSize: number,
  report: Report,
): Promise<void> {
  await checkPages(db, pageSize, async (tx, after) => {
    const tasks = await tx.query<AuditedTask>(AUDITED_PAGE, [after, pageSize]);
    const ids = tasks.map(({ id }) => id);
    checkPrices(await readCatalog(tx), tasks, report);
    await checkReservations(tx, tasks, report);
    for (const check of AUDITED_CHECKS) await runCheck(tx, check, { values: [ids], report });
    return ids;
  });
}

/** Each task must cost what its request costs by the price version that is stored with it. */
function checkPrices(catalog: Catalog, tasks: AuditedTask[], report: Report): void {
  for (const { id, credits, price_version, priced } of tasks) {
    const { prices = [] } = modelNamed(catalog, priced.model) ?? {};
    const price = prices.find(({ version }) => version === price_version);
    const expected = price && creditsBy(price, priced);
    if (credits === expected) continue;
    const where = `by version ${price_version} of the price of ${priced.model}`;
    report(`${id}: it costs ${credits} credits, but ${expected ?? 'none'} ${where}`);
  }
}

const SETTLEMENTS: Record<string, string> = { completed: 'capture', failed: 'refund' };

async function checkReservations(
  tx: Queryable,
  tasks: AuditedTask[],
  report: Report,
): Promise<void> {
  const ids = tasks.map(({ id }) => id);
  const reservations = Map.groupBy(await auditedReservations(tx, ids), (row) => row.task_id);
  for (const task of tasks) checkParts(task, reservations.get(task.id) ?? [], report);
}

/** The credits of a task are reserved and settled in one or two parts: promotional and paid. */
function checkParts(task: AuditedTask, reserved: AuditedReservation[], report: Report): void {
  const { id, phase } = task;
  const wanted = partsOf({
    ...task,
    accountId: task.account_id,
    taskId: id,
    promotionalCredits: task.promotional_credits,
    isTest: task.surface === TEST_SURFACE,
  });
  const isReserved = wanted.every(({ kind, credits }) =>
    reserved.some(
      (row) => row.account_id === task.account_id && row.kind === kind && row.credits === credits,
    ),
  );
  if (!isReserved || reserved.length !== wanted.length) {
    report(`${id}: ${phase}, but its reservations do not match its credits`);
  }
  for (const { outcome } of reserved) {
    if (outcome === (SETTLEMENTS[phase] ?? null)) continue;
    report(`${id}: ${phase}, but the settlement of its credits is ${outcome ?? 'missing'}`);
  }
}
