import { createAccount, hasAccounts } from '../accounts/accounts.ts';
import { createKey } from '../accounts/api-keys.ts';
import type { Config } from '../config/config.ts';
import type { Database } from '../database/database.ts';
import { grant } from '../ledger/ledger.ts';

const FIRST_ACCOUNT = 'you@localhost';
const FIRST_CREDITS = 10_000;

/**
 * On the first start with the embedded database and the local renderer, where videos cost no money,
 * creates an account with credits and prints its API key once.
 */
export async function welcome(config: Config, db: Database, url: string): Promise<void> {
  const isTrial = config.databaseUrl === undefined && config.provider === 'local';
  if (!isTrial || (await hasAccounts(db))) return;
  const accountId = await createAccount(db, FIRST_ACCOUNT);
  const reference = 'first-start';
  await grant(db, { accountId, credits: FIRST_CREDITS, kind: 'paid', reference });
  const { secret } = await createKey(db, { accountId, name: 'first start' });
  const code = config.website.mail
    ? 'The code is mailed through the server in SMTP_URL.'
    : 'The code is printed in this log, since there is no mail server.';
  process.stdout.write(`
Framewright is running with its local renderer (test patterns, not an AI model).
An account ${FIRST_ACCOUNT} with ${FIRST_CREDITS} credits was created. Its API key, shown only now:

  ${secret}

The website: ${url}
Sign in there as ${FIRST_ACCOUNT}. ${code}
If you start with ADMIN_EMAILS=${FIRST_ACCOUNT}, this account also sees the operator's console.

Or try the API:

  curl -s ${url}/api/v1/video/generations \\
    -H "Authorization: Bearer ${secret}" \\
    -H "Content-Type: application/json" -H "Idempotency-Key: first-$(date +%s)" \\
    -d '{"prompt":"A lighthouse at dawn, waves below"}'

The response is a task. Read it at ${url}/api/v1/tasks/ID with the same Authorization header
until its status is completed, then open output.video_url. The documentation: ${url}/docs
To make a key whose tasks cost nothing:
  npx --no-install framewright keys create ${FIRST_ACCOUNT} --test
Ctrl-C stops the service.

`);
}
