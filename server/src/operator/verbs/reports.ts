import type { Transaction } from '../../database/database.ts';
import { UsageError } from '../../kernel/errors.ts';
import { mailOwner } from '../../mail/outbox.ts';
import {
  type Decision,
  decideReports,
  type LockedReport,
  lockReport,
  REPORT_STATES,
} from '../../reports/reports.ts';
import { ownerOf } from '../../tasks/task-listing.ts';
import { type Action, performAction, recordAction } from '../actions.ts';
import { listReports, MONTH_COLUMNS, reportMonths, showReport } from '../listings/reports.ts';
import { choiceOf, type InputOf, optional, text, time } from '../verb/fields.ts';
import { RowStream, type VerbDeps, verb } from '../verb/verb.ts';
import { disableIn } from './accounts.ts';
import { REMOVAL, removalDetails, takeDownFile } from './objects.ts';

const OF_REPORT = {
  fields: { id: text('The report.', { word: 'ID' }) },
  positional: ['id'],
} as const;

const OF_REMOVAL = { ...OF_REPORT, fields: { ...OF_REPORT.fields, ...REMOVAL } };

type Given = { id: string } & Partial<InputOf<typeof REMOVAL>>;

const decideAs =
  (decision: Decision) =>
  ({ db }: VerbDeps, { id, basis, evidence_days }: Given, action: Action) => {
    const removal = { basis, evidence_days };
    const changing =
      decision === 'kept'
        ? { target: id }
        : { target: id, details: removalDetails(removal, 'report') };
    return performAction(db, action, changing, async (tx) => {
      const report = await lockReport(tx, id);
      const decided = { report_id: id, state: decision };
      if (report.state === decision) return { ...decided, reports: 0, changed: false };
      if (report.state !== 'open') throw new UsageError(`${id} is decided: ${report.state}`);
      if (decision !== 'kept') {
        await takeDownReported(tx, report, { decision, action, evidence_days });
      }
      return { ...decided, reports: await decideReports(tx, report, decision), changed: true };
    });
  };

/** Takes the video down, disables the account if so decided, and mails the reason to its owner. */
async function takeDownReported(
  tx: Transaction,
  { id, task_id: taskId, object_id: objectId, reason }: LockedReport,
  given: { decision: Decision; action: Action; evidence_days: number | undefined },
): Promise<void> {
  const { decision, action, evidence_days: evidenceDays } = given;
  const accountId = taskId === null ? undefined : await ownerOf(tx, taskId);
  if (taskId === null || objectId === null || accountId === undefined) {
    throw new UsageError(`${id} names no video of this service: it can only be kept`);
  }
  const disables = decision === 'account_closed';
  if (disables) {
    const { changed } = await disableIn(tx, accountId);
    if (changed) await recordAction(tx, action, { target: accountId, details: { report: id } });
  }
  await takeDownFile(tx, objectId, evidenceDays);
  const why = `Reported for: ${reason.replaceAll('_', ' ')}
Why it was removed: ${action.reason}`;
  await mailOwner(tx, { accountId, ...ownerMail(taskId, why, disables) });
}

function ownerMail(taskId: string, why: string, disables: boolean) {
  const disabled = ' Your account is disabled: nobody can sign in, and its API keys do not work.';
  return {
    subject: disables ? 'Your account is disabled' : 'A video of yours was removed',
    text: `The video of ${taskId} was reported, and an operator has removed it.${disables ? disabled : ''}

${why}

If you think that this is wrong, reply to this mail and say why.
`,
  };
}

const MAILS = 'Its owner gets your reason by mail, the reporter only the decision.';

export const REPORTS = {
  'reports list': verb({
    summary:
      'List reports of videos, oldest first. Without --state, those that wait for a decision',
    fields: { state: optional(choiceOf('The state of the reports.', REPORT_STATES)) },
    cursorOf: (row: { id: string }) => row.id,
    run: ({ db, page }, { state = 'open' }) =>
      listReports(db, page.after ?? null, page.limit, state),
  }),
  'reports show': verb({
    summary: 'Show a report, and the video that it names',
    ...OF_REPORT,
    run: async ({ db }, { id }) => showReport(db, id),
  }),
  'reports keep': verb({
    summary: 'Decide that a reported video stays',
    ...OF_REPORT,
    reason: 'required',
    dialog: { title: 'Keep the video', effect: 'The reporter gets the decision without a reason.' },
    run: decideAs('kept'),
  }),
  'reports take-down': verb({
    summary: 'Take a reported video down; this decides all reports of it',
    ...OF_REMOVAL,
    reason: 'required',
    dialog: {
      title: 'Take the video down',
      effect: `It is not served from now on, and its file is deleted. ${MAILS}`,
      isDangerous: true,
    },
    run: decideAs('taken_down'),
  }),
  'reports close-account': verb({
    summary: 'Take a reported video down, and disable the account that made it',
    ...OF_REMOVAL,
    reason: 'required',
    dialog: {
      title: 'Disable the account',
      effect: `The video is taken down, and the account is disabled; its tasks continue. ${MAILS}`,
      isDangerous: true,
    },
    run: decideAs('account_closed'),
  }),
  'reports export': verb({
    summary: 'Count reports, decisions, refusals, takedowns and orders by month (UTC), as CSV',
    fields: {
      from: optional(time('The first month. Without it, a year ago.')),
      to: optional(time('The last month. Without it, this one.')),
    },
    run: async ({ db }, { from = null, to = null }) => {
      const months = await db.snapshot((tx) => reportMonths(tx, from, to));
      return new RowStream({
        name: 'months',
        columns: MONTH_COLUMNS,
        rows: months,
        isCsv: true,
        summary: () => ({ time_zone: 'UTC' }),
      });
    },
    runOnConsole: async (run) => Array.fromAsync((await run()).content.rows),
  }),
};
