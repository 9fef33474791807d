import { createAccount, disableAccount, findAccount } from '../accounts/accounts.ts';
import { createKey, listKeys, revokeKey } from '../accounts/api-keys.ts';
import type { Database } from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { adjust, balances, type CreditKind, grant } from '../ledger/ledger.ts';
import { audit } from '../operator/audit.ts';
import { type OperatorDecision, reconcile } from '../operator/reconcile.ts';
import { listTasks, showTask } from '../operator/task-listing.ts';
import { isJobId } from '../providers/kit/job-id.ts';
import { listOrphans } from '../tasks/attempts/orphans.ts';
import { TRANSITIONS } from '../tasks/transitions.ts';

/** The words after the command's name, checked to be as many as it wants, and its options. */
export interface Arguments {
  words: string[];
  options: Record<string, string | undefined>;
}

/** An operator command that works on the database. */
export interface Command {
  /** As typed after `framewright`, such as `keys create ACCOUNT [--name N]`. */
  usage: string;
  summary: string;
  options: readonly string[];
  /** Options without a value. */
  flags?: readonly string[];
  run(db: Database, args: Arguments): Promise<unknown>;
}

function credits(text: string): number {
  if (!/^[+-]?\d+$/.test(text))
    throw new UsageError(`${JSON.stringify(text)} is no number of credits`);
  return Number(text);
}

function kind(text: string | undefined): CreditKind {
  if (text === 'paid' || text === 'promotional') return text;
  throw new UsageError('--kind wants paid or promotional');
}

function required(options: Arguments['options'], name: string): string {
  const value = options[name]?.trim();
  if (!value) throw new UsageError(`--${name} is required`);
  return value;
}

function knownPhase(text: string | undefined): string | undefined {
  const phases = Object.keys(TRANSITIONS);
  if (text === undefined || phases.includes(text)) return text;
  throw new UsageError(`--phase wants one of ${phases.join(', ')}`);
}

function decision(options: Arguments['options']): OperatorDecision {
  const given = ['accepted', 'not-accepted', 'failed'].filter(
    (name) => options[name] !== undefined,
  );
  const [kind, ...others] = given;
  if (kind === undefined || others.length > 0) {
    throw new UsageError('reconcile wants one of --accepted JOB_ID, --not-accepted, --failed');
  }
  if (kind === 'accepted') {
    const jobId = options.accepted?.trim();
    if (!isJobId(jobId)) throw new UsageError('--accepted wants the id of the provider’s job');
    return { kind, jobId };
  }
  return { kind: kind === 'failed' ? 'failed' : 'not_accepted' };
}

async function booked(db: Database, { words, options }: Arguments) {
  const [account = '', amount = ''] = words;
  return {
    accountId: await findAccount(db, account),
    credits: credits(amount),
    kind: kind(options.kind),
    reference: required(options, 'reference'),
  };
}

/** All operator commands but `serve`. Each finds the schema up to date. */
export const COMMANDS: readonly Command[] = [
  {
    usage: 'accounts create EMAIL',
    summary: 'Create an account with no credits',
    options: [],
    run: async (db, { words: [email = ''] }) => ({ account_id: await createAccount(db, email) }),
  },
  {
    usage: 'accounts disable ACCOUNT',
    summary: 'Answer 401 to all its keys from now on; its tasks go on to their end',
    options: [],
    run: async (db, { words: [account = ''] }) => {
      const accountId = await findAccount(db, account);
      await disableAccount(db, accountId);
      return { account_id: accountId, disabled: true };
    },
  },
  {
    usage: 'keys create ACCOUNT [--name N] [--expires-at ISO]',
    summary: 'Create an API key; its secret is shown this once',
    options: ['name', 'expires-at'],
    run: async (db, { words: [account = ''], options }) => {
      const accountId = await findAccount(db, account);
      const { name, 'expires-at': expiresAt } = options;
      const { keyId, secret } = await createKey(db, { accountId, name, expiresAt });
      return { key_id: keyId, secret };
    },
  },
  {
    usage: 'keys revoke KEY_ID',
    summary: 'Answer 401 to this key from the next request on',
    options: [],
    run: async (db, { words: [keyId = ''] }) => {
      await revokeKey(db, keyId);
      return { key_id: keyId, revoked: true };
    },
  },
  {
    usage: 'keys list ACCOUNT',
    summary: 'List the keys of an account, without their secrets',
    options: [],
    run: async (db, { words: [account = ''] }) => listKeys(db, await findAccount(db, account)),
  },
  {
    usage: 'credits grant ACCOUNT CREDITS --kind paid|promotional --reference REF',
    summary: 'Give credits, once per reference',
    options: ['kind', 'reference'],
    run: async (db, args) => {
      const given = await booked(db, args);
      const isNew = await grant(db, given);
      return {
        account_id: given.accountId,
        ...(await balances(db, given.accountId)),
        booked: isNew,
      };
    },
  },
  {
    usage: 'credits adjust ACCOUNT ±CREDITS --kind KIND --reference REF --reason TEXT',
    summary: 'Correct a balance up or down, once per reference',
    options: ['kind', 'reference', 'reason'],
    run: async (db, args) => {
      const given = await booked(db, args);
      const isNew = await adjust(db, { ...given, note: required(args.options, 'reason') });
      return {
        account_id: given.accountId,
        ...(await balances(db, given.accountId)),
        booked: isNew,
      };
    },
  },
  {
    usage: 'credits show ACCOUNT',
    summary: 'Show available and reserved credits, paid and promotional',
    options: [],
    run: async (db, { words: [account = ''] }) => balances(db, await findAccount(db, account)),
  },
  {
    usage: 'tasks list [--phase P] [--account A]',
    summary: 'List the newest tasks',
    options: ['phase', 'account'],
    run: async (db, { options: { phase, account } }) => {
      const accountId = account === undefined ? undefined : await findAccount(db, account);
      return listTasks(db, { phase: knownPhase(phase), accountId });
    },
  },
  {
    usage: 'tasks show ID',
    summary: 'Show all that is known of a task: attempts, evidence, history, objects',
    options: [],
    run: (db, { words: [id = ''] }) => showTask(db, id),
  },
  {
    usage: 'reconcile ID (--accepted JOB_ID | --not-accepted | --failed) --reason TEXT',
    summary: 'Decide a held task: its job is JOB_ID, no provider took it, or give it up',
    options: ['accepted', 'reason'],
    flags: ['not-accepted', 'failed'],
    run: (db, { words: [id = ''], options }) =>
      reconcile(db, id, decision(options), required(options, 'reason')),
  },
  {
    usage: 'orphans list',
    summary: 'List provider jobs that no task uses: late evidence, at your cost',
    options: [],
    run: (db) => listOrphans(db),
  },
  {
    usage: 'audit',
    summary: 'Prove that the books, tasks and objects agree; exit 1 if not',
    options: [],
    run: (db) => audit(db),
  },
  {
    usage: 'migrate',
    summary: "Bring the database's schema up to date (serve and every command do so too)",
    options: [],
    run: async () => ({ up_to_date: true }),
  },
];
