import type { Queryable, Statement } from '../database/database.ts';

/** Receives each problem that an audit finds. */
export type Report = (problem: string) => void;

/** Runs a check, which is a statement whose rows are problems, and reports them. */
export async function runCheck(
  tx: Queryable,
  check: Statement,
  { values, report }: { values: unknown[]; report: Report },
): Promise<void> {
  for (const { problem } of await tx.query<{ problem: string }>(check, values)) report(problem);
}
