import { accountsOf } from '../accounts/accounts.ts';
import {
  type Database,
  query,
  queryValue,
  type Transaction,
  whether,
} from '../database/database.ts';
import type { Log } from '../kernel/log.ts';
import { TEST_SURFACE } from '../ledger/transfer.ts';
import { mailOwner } from '../mail/outbox.ts';
import { REFUSED_LATELY } from '../tasks/task-sql.ts';

const PAUSE_HOURS = 24;

/** SQL: whether a pause can be that long. If not, it is from before the clock was set back. */
const isPossible = (until: string) =>
  `${until} <= clock_now() + interval '${PAUSE_HOURS} hours 1 second'`;

/** SQL: whether the row `p` pauses its account now. */
const IS_PAUSED = `(p.paused_until > clock_now() and ${isPossible('p.paused_until')})`;

/** How long the caller of a create is paused; read by the admission. */
export interface CallerPause {
  /** Null if the account is not paused. */
  account_paused_seconds: number | null;
}

/** SQL for the admission query: {@link CallerPause}. Test keys are never paused. */
export const PAUSE_OF_CALLER = {
  columns: `case when caller.surface <> '${TEST_SURFACE}' and ${IS_PAUSED}
       then extract(epoch from p.paused_until - clock_now()) end::float8 as account_paused_seconds`,
  joins: 'left join account_pauses p on p.account_id = caller.account_id',
} as const;

// A verdict that is still `review` was not decided in time, which is not the customer's fault.
const pauseRefused = query<[limit: number, exempt: string[]], { account_id: string }, Transaction>(
  'account_pause_refused',
  `insert into account_pauses as p (account_id, paused_until)
   select refused.account_id, clock_now() + interval '${PAUSE_HOURS} hours'
   from ${REFUSED_LATELY} refused
     left join account_pauses earlier on earlier.account_id = refused.account_id
       and ${isPossible('earlier.paused_until')}
   where refused.at > coalesce(earlier.paused_until, '-infinity')
     and refused.account_id <> all($2)
     and not exists (select from moderation_verdicts v
       where v.task_id = refused.id and v.verdict = 'review')
   group by refused.account_id having count(*) >= $1
   on conflict (account_id) do update
     set paused_at = clock_now(), paused_until = excluded.paused_until where not ${IS_PAUSED}
   returning account_id`,
);

/**
 * Pauses the accounts that reached the limit of refused tasks in the last hour, and mails their
 * owners and the operators. Operators' own accounts are left alone.
 * @param deps.refusalLimit 0: no account is paused
 */
export async function pauseRefusedAccounts(deps: {
  db: Database;
  log: Log;
  refusalLimit: number;
  adminEmails: ReadonlySet<string>;
  publicUrl(): string;
}): Promise<void> {
  const { db, log, refusalLimit, publicUrl } = deps;
  if (refusalLimit === 0) return;
  const operators = await accountsOf(db, [...deps.adminEmails]);
  const paused = await db.transaction(async (tx) => {
    const accounts = await pauseRefused(tx, refusalLimit, operators);
    for (const { account_id: accountId } of accounts) {
      await mailOwner(tx, { accountId, ...OWNER_MAIL });
      const mail = operatorMail(accountId, publicUrl());
      for (const operator of operators) await mailOwner(tx, { accountId: operator, ...mail });
    }
    return accounts;
  });
  for (const { account_id: account } of paused) log.warn({ account }, 'an account was paused');
}

const OWNER_MAIL = {
  subject: 'Your account is paused',
  text: `Many of your requests were refused for their content, so your account gets no new videos for
${PAUSE_HOURS} hours. Videos that are being made go on, and test keys work as before.

If you don't know these requests, somebody else uses your account: revoke your API keys.
`,
};

function operatorMail(accountId: string, publicUrl: string) {
  return {
    subject: 'An account was paused',
    text: `Many requests of ${accountId} were refused for their content, so its creates get 503 for ${PAUSE_HOURS} hours.

${publicUrl}/operator/accounts/${accountId}
`,
  };
}

/** Ends a pause early. @returns whether the account was paused */
export const endAccountPause = whether<[accountId: string], Transaction>(
  'account_pause_end',
  `update account_pauses p set paused_until = clock_now()
   where account_id = $1 and ${IS_PAUSED} returning account_id`,
);

/** Until when an account is paused; null if it is not paused. */
export const accountPausedUntil = queryValue<[accountId: string], Date | null>(
  'account_paused_until',
  `select p.paused_until from account_pauses p where account_id = $1 and ${IS_PAUSED}`,
  null,
);
