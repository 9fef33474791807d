import { holdLostAttempts } from '../../attempts/lost-attempts.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { beginRecovery, endRecovery, readLineage } from '../../database/lineage.ts';
import { lastGrantAt } from '../../ledger/overview.ts';
import { rotateSecrets } from '../../storage/links.ts';
import { auditStorage } from '../../storage/vanished.ts';
import { type Action, performAction, recordAction } from '../actions.ts';
import { audit } from '../audit.ts';
import { startAudit } from '../audit-runs.ts';
import { type LastKnown, lastKnown } from '../listings/last-known.ts';
import { decimal, flag, optional } from '../verb/fields.ts';
import { type VerbDeps, verb } from '../verb/verb.ts';

/** Longer than the two days that a provider may wait before it fetches an input. */
const KEEP_HOURS = 72;

const ON_SERVER = 'for whoever runs the servers';

export const SECRETS = {
  'secrets rotate': verb({
    summary:
      'Sign links with a new secret; old links work N more hours (72), or stop with --cut-off',
    fields: {
      keep_hours: optional(decimal('Hours for which old links still work.', { max: 87_600 })),
      cut_off: flag('Old links stop working when the new secret signs.'),
    },
    oneOf: { fields: ['keep_hours', 'cut_off'], isRequired: false },
    reason: 'required',
    notOnConsole: ON_SERVER,
    run: ({ db }, { keep_hours: keep = KEEP_HOURS, cut_off: isCutOff }, action) => {
      const hours = isCutOff ? 0 : keep;
      const changing = { target: 'delivery_secrets', details: { keep_hours: hours } };
      const rotate = (tx: Transaction) => rotateSecrets(tx, hours * 3600);
      return performAction(db, action, changing, rotate);
    },
  }),
};

export const AUDIT = {
  audit: verb({
    summary:
      'Prove that balances, tasks, attempts and objects agree, and with --storage that the ' +
      'storage has each file; exit 1 if not',
    fields: { storage: flag('Also ask the storage for each file; by command only.') },
    // A request must not wait for an audit: audits run in the background, one at a time.
    isRecordedOnConsole: true,
    dialog: {
      title: 'Run an audit',
      effect: 'It runs in the background, one at a time. It changes nothing.',
    },
    runOnConsole: async (_, deps, action) => ({
      changed: (await startAudit(deps, action)).changed,
    }),
    async run(deps, { storage }) {
      const { db, show } = deps;
      const result = await audit(db, show);
      const files = storage ? await auditFiles(deps) : undefined;
      const problems = [...result.problems, ...(files?.problems ?? [])];
      const found = (result.found ?? result.problems.length) + (files?.problems.length ?? 0);
      return {
        ok: found === 0,
        ...(files && { files: files.count }),
        // Problems that were shown one by one are only counted.
        ...(show === undefined || found === 0 ? { problems } : {}),
        ...(found > problems.length || (show !== undefined && found > 0) ? { found } : {}),
      };
    },
  }),
};

async function auditFiles({ db, show, openStorage }: VerbDeps) {
  if (!openStorage) throw new Error('only the command line asks the storage');
  const problems: string[] = [];
  const count = await auditStorage({ db, storage: await openStorage() }, (problem) => {
    problems.push(problem);
    show?.(problem);
  });
  return { count, problems };
}

export const RESTORED = {
  restored: verb({
    summary: 'After a restore or fail-over: hold what may have been submitted, then go on',
    fields: { nothing_lost: flag('The database has lost no transaction.') },
    reason: 'required',
    notOnConsole: ON_SERVER,
    run: ({ db }, { nothing_lost: nothingLost }, action) =>
      recoverRestored(db, action, nothingLost),
  }),
};

export const MIGRATE = {
  /** For this verb, opening the database updates its schema, so `run` has nothing left to do. */
  migrate: verb({
    summary: 'Bring the database schema up to date (serve does this too, other commands do not)',
    fields: {},
    migrates: true,
    createsDatabase: true,
    notOnConsole: ON_SERVER,
    run: async () => ({ up_to_date: true }),
  }),
};

/**
 * Ends the recovery of a database that was restored from a backup or replaced by a replica. First,
 * unless nothing was lost, it holds each task whose submit may be among the transactions that the
 * database lost. Such a task is never resubmitted automatically.
 */
async function recoverRestored(
  db: Database,
  action: Action,
  nothingLost: boolean,
): Promise<{ held_tasks: string[]; replay_after: LastKnown[] }> {
  const reason = action.reason ?? '';
  await db.transaction((tx) => beginRecovery(tx, reason)); // from now on, nothing is claimed
  const lineage = await readLineage(db);
  return db.transaction(async (tx) => {
    const credits = { what: 'credits granted or adjusted', last_known: await lastGrantAt(tx) };
    const replayAfter = [credits, ...(await lastKnown(tx))];
    const heldTasks = nothingLost ? [] : await holdLostAttempts(tx, reason);
    const details = { nothing_lost: nothingLost, held_tasks: heldTasks.length };
    await recordAction(tx, action, { target: 'database', details });
    await endRecovery(tx, lineage);
    return { held_tasks: heldTasks, replay_after: nothingLost ? [] : replayAfter };
  });
}
