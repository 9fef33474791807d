import type { BrowserContextOptions, Page } from 'playwright-core';
import { createAccount, findAccount } from '../../server/src/accounts/accounts.ts';
import { grant } from '../../server/src/ledger/ledger.ts';
import { beginSession } from '../../server/src/sign-in/sessions.ts';
import { sql } from '../../server/test/task-fixtures.ts';
import { expectNoViolations, open, type Site } from './site.ts';

interface Customer extends BrowserContextOptions {
  email?: string;
  /** Paid ones. */
  credits?: number;
  promotional?: number;
}

/** A page of an account, a new one with these credits unless it exists, signed in without a mail. */
export async function signedInPage(
  site: Site,
  { email = `${crypto.randomUUID()}@example.com`, credits, promotional, ...options }: Customer = {},
): Promise<{ page: Page; accountId: string; email: string }> {
  const { db } = site.database;
  const accountId = await createAccount(db, email).catch(() => findAccount(db, email));
  const grants = [
    { kind: 'paid', credits } as const,
    { kind: 'promotional', credits: promotional } as const,
  ];
  for (const { kind, credits = 0 } of grants) {
    const reference = crypto.randomUUID();
    if (credits > 0) await grant(db, { accountId, kind, credits, reference });
  }
  const page = await site.newPage(options);
  await become(site, page, accountId);
  return { page, accountId, email };
}

/** Signs the browser of a page in. */
export async function become(
  { database: { db }, url }: Site,
  page: Page,
  accountId: string,
  from = { method: 'code', network: '127.0.0.0/24', browser: 'Test' },
): Promise<void> {
  const value = await beginSession(db, accountId, from);
  await page.context().addCookies([{ name: 'framewright', value, url }]);
}

/** Signs out by the menu of the account. */
export async function signOut(page: Page): Promise<void> {
  await page.locator('summary[aria-label="Account"]').click();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
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

/** Adds a passkey of this device on the page of the settings. */
export async function addPasskey(page: Page, name: string): Promise<void> {
  await open(page, '/settings', 'Settings');
  await expectNoViolations(page);
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill(name);
  await expectNoViolations(page);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('table', { name: 'Passkeys' }).getByText(name).waitFor();
}
