// The room reports/: anyone's reports that a video must not be shown, and what was decided
// (decisions/0069).

import { accountsOf, emailOf } from '../accounts/accounts.ts';
import { countHit } from '../accounts/rate-window.ts';
import {
  command,
  type Database,
  namedStatement,
  type Queryable,
  query,
  queryValue,
  type Transaction,
} from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { newId } from '../kernel/ids.ts';
import { mailOwner } from '../mail/outbox.ts';
import { sharedTaskIn } from '../shares/shares.ts';
import { findOutput } from '../storage/outputs.ts';
import { tasksOf } from '../tasks/task-sql.ts';

export const REPORT_REASONS = [
  'intimate_images',
  'sexualized_minors',
  'impersonation',
  'copyright',
  'other',
] as const;

/** An operator must decide these within 48 hours. */
export const URGENT_REASONS: readonly string[] = ['intimate_images', 'sexualized_minors'];

/** Anybody can cause these mails: more would hide the first ones. */
const URGENT_MAILS_PER_HOUR = 20;

export const REPORT_STATES = ['open', 'kept', 'taken_down', 'account_closed'] as const;
export type ReportState = (typeof REPORT_STATES)[number];
export type Decision = Exclude<ReportState, 'open'>;

interface GivenReport {
  /** A link to the video or to its share, its id, its task's id, or the SHA-256 of its file. */
  video: string;
  reason: (typeof REPORT_REASONS)[number];
  /** As `normalEmail` returns it. */
  contact: string | null;
  evidence: string;
}

const INSERT = namedStatement(
  'report_insert',
  `insert into reports (id, reason, video, contact, evidence, task_id, object_id)
   values (:id, :reason, :video, :contact, :evidence, :taskId, :objectId)`,
);

/** What names a video in the text: an object, a task, or a digest. */
const NAMED = /(?:obj|task)_[0-9A-Za-z]{24}|\b[0-9a-f]{64}\b/i;

interface ReportDeps {
  db: Database;
  adminEmails: ReadonlySet<string>;
  publicUrl(): string;
}

/**
 * Stores a report, whether a video is found or not. Mails a receipt, and the operators if the
 * report is urgent. @returns its id
 */
export function receiveReport(deps: ReportDeps, given: GivenReport): Promise<string> {
  const { db, adminEmails, publicUrl } = deps;
  const { video, reason, contact, evidence } = given;
  const id = newId('report');
  return db.transaction(async (tx) => {
    const named = (await sharedTaskIn(tx, video)) ?? NAMED.exec(video)?.[0] ?? '';
    const found = await findOutput(tx, named.includes('_') ? named : named.toLowerCase());
    const values = INSERT.values({
      id,
      reason,
      video,
      contact,
      evidence,
      taskId: found?.task_id ?? null,
      objectId: found?.object_id ?? null,
    });
    await tx.query(INSERT, values);
    // The outbox finds the reporter's address by the id of the report.
    if (contact !== null) await mailOwner(tx, { accountId: id, ...receiptMail(id) });
    const isMailed =
      URGENT_REASONS.includes(reason) &&
      (await countHit(tx, 'urgent-reports', URGENT_MAILS_PER_HOUR, 3600));
    const operators = isMailed ? await accountsOf(tx, [...adminEmails]) : [];
    for (const accountId of operators) {
      await mailOwner(tx, {
        accountId,
        ...urgentMail(reason, `${publicUrl()}/operator/reports/${id}`),
      });
    }
    return id;
  });
}

function urgentMail(reason: string, address: string) {
  return {
    subject: 'An urgent report waits for your decision',
    text: `A video was reported for: ${reason.replaceAll('_', ' ')}. Decide within 48 hours.

${address}
`,
  };
}

// Repeats nothing that the reporter wrote, since anybody can enter somebody else's address.
function receiptMail(id: string) {
  return {
    subject: 'We received your report',
    text: `Your report ${id} has arrived. You get the decision by mail.

If you did not report a video, somebody else entered your address: there is nothing to do.
`,
  };
}

export interface LockedReport {
  id: string;
  state: ReportState;
  reason: string;
  task_id: string | null;
  object_id: string | null;
}

// In order, so that two decisions about one video don't deadlock.
const lock = query<[id: string], LockedReport, Transaction>(
  'report_lock',
  `select id, state, reason, task_id, object_id from reports
   where id = $1 or task_id = (select c.task_id from reports c where c.id = $1)
   order by id for update`,
);

/** Locks all reports of a report's video. @throws UsageError when there is no such report */
export async function lockReport(tx: Transaction, id: string): Promise<LockedReport> {
  const report = (await lock(tx, id)).find((row) => row.id === id);
  if (!report) throw new UsageError(`there is no report ${JSON.stringify(id)}`);
  return report;
}

const decide = query<
  [decision: Decision, id: string, taskId: string | null],
  { id: string; contact: string | null },
  Transaction
>(
  'report_decide',
  `update reports set state = $1, decided_at = clock_now()
   where state = 'open' and (id = $2 or task_id = $3) returning id, contact`,
);

/**
 * Decides an open report, and mails its reporter. If the video is removed, this decides all open
 * reports of it.
 * @returns how many reports were decided
 */
export async function decideReports(
  tx: Transaction,
  { id, task_id: taskId }: LockedReport,
  decision: Decision,
): Promise<number> {
  const decided = await decide(tx, decision, id, decision === 'kept' ? null : taskId);
  for (const report of decided) {
    if (report.contact === null) continue;
    await mailOwner(tx, { accountId: report.id, ...decisionMail(report.id, decision) });
  }
  return decided.length;
}

// Does not tell whether a kept video is ours, nor what happened to an account.
function decisionMail(id: string, decision: Decision) {
  const outcome =
    decision === 'kept'
      ? 'nothing was removed: the video is not ours, or it breaks none of our rules'
      : 'the video was removed';
  return {
    subject: 'Your report was decided',
    text: `An operator has looked at your report ${id}: ${outcome}.

If you think that this is wrong, reply to this mail.
`,
  };
}

const contactOf = queryValue<[id: string], string | null>(
  'report_contact',
  'select contact from reports where id = $1',
  null,
);

/** The e-mail address of an account, or of the reporter of a report; undefined if it was erased. */
export async function addressOf(db: Queryable, id: string): Promise<string | undefined> {
  return (await emailOf(db, id)) ?? (await contactOf(db, id)) ?? undefined;
}

/** Removes what reporters gave this many days ago. */
export const forgetReporters = command<[days: number]>(
  'report_forget',
  `update reports set video = null, contact = null, evidence = null
   where video is not null and created_at < clock_now() - $1 * interval '1 day'`,
);

const erase = command<[accountId: string, email: string | null], Transaction>(
  'report_erase',
  `update reports set video = null, contact = null, evidence = null
   where contact = $2 or (state <> 'open' and task_id in (${tasksOf('$1')}))`,
);

/**
 * Erases evidence and contact in reports by this account's owner, and in decided ones about its
 * videos.
 */
export async function eraseOf(tx: Transaction, accountId: string): Promise<void> {
  await erase(tx, accountId, (await emailOf(tx, accountId))?.toLowerCase() ?? null);
}
