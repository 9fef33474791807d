import type { Database } from '../../src/database/database.ts';
import { type AuditSizes, auditLedger } from '../../src/ledger/audit.ts';

/** What the audit of the ledger finds. */
export async function ledgerProblems(
  db: Pick<Database, 'snapshot'>,
  sizes?: AuditSizes,
): Promise<string[]> {
  const problems: string[] = [];
  await auditLedger(db, { report: (problem) => problems.push(problem), ...(sizes && { sizes }) });
  return problems;
}
