import type { Page } from 'playwright-core';
import { createAccount, findAccount } from '../../server/src/accounts/accounts.ts';
import { grant } from '../../server/src/ledger/ledger.ts';
import { beginSession } from '../../server/src/sign-in/sessions.ts';
import { sql } from '../../server/test/task-fixtures.ts';
import type { Site } from './site.ts';

/** A page of an account, a new one with these credits unless it exists, signed in without the way through the mail. */
export async function signedInPage(
  site: Site,
  { email = `${crypto.randomUUID()}@example.com`, credits = 0, timezoneId = 'UTC' } = {},
): Promise<{ page: Page; accountId: string }> {
  const { db } = site.database;
  const accountId = await createAccount(db, email).catch(() => findAccount(db, email));
  const reference = crypto.randomUUID();
  if (credits > 0) await grant(db, { accountId, credits, kind: 'paid', reference });
  const from = { method: 'code', network: '127.0.0.0/24', browser: 'Test' };
  const value = await beginSession(db, accountId, from);
  const page = await site.newPage({ timezoneId });
  await page.context().addCookies([{ name: 'framewright', value, url: site.url }]);
  return { page, accountId };
}

/** Makes the sign-in of an account too long ago for what needs a fresh proof. */
export async function outdateProof({ database: { db } }: Site, accountId: string): Promise<void> {
  const update = `update sessions set created_at = clock_now() - interval '11 minutes'`;
  await sql(db, `${update} where account_id = $1`, [accountId]);
}

/** A device that makes passkeys and uses them without asking. */
export async function addAuthenticator(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}
