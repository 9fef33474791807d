import assert from 'node:assert/strict';
import { sql } from '../../server/test/task-fixtures.ts';
import { addAuthenticator, addPasskey, become, outdateProof, signedInPage } from './signed-in.ts';
import { expectNoViolations, open, openSite, signIn, siteOf, test } from './site.ts';

const site = await siteOf(() => openSite({ ROLES: 'api' }));

test('a passkey is added, confirms another one, and is renamed and removed', async () => {
  const { page, accountId } = await signedInPage(site);
  await addAuthenticator(page);
  await addPasskey(page, 'laptop <b>1</b>');
  await outdateProof(site, accountId);
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('second');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.getByText('This device has a passkey for this account.').waitFor(); // confirmed
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: /^Rename/ }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('laptop');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Rename laptop' }).waitFor();
  await page.getByRole('button', { name: 'Remove laptop' }).click();
  await page.getByRole('button', { name: 'Remove the passkey' }).click();
  await page.getByText('None yet.', { exact: true }).waitFor();
  await page.locator('h2:focus', { hasText: 'Passkeys' }).waitFor();
});

test('a session that is ended elsewhere leads to the sign-in at its next action', async () => {
  const { page, accountId } = await signedInPage(site);
  const from = { method: 'github', network: '203.0.113.0/24', browser: 'Firefox on Linux' };
  const other = await site.newPage();
  await become(site, other, accountId, from);
  await open(other, '/keys', 'API keys');
  await open(page, '/settings', 'Settings');
  await page.getByText('203.0.113.0/24').waitFor();
  await page.getByRole('button', { name: 'Sign out Firefox on Linux' }).click();
  await page.getByText('203.0.113.0/24').waitFor({ state: 'detached' });
  await other.getByRole('button', { name: 'New key' }).first().click();
  await other.getByRole('textbox', { name: 'Name' }).fill('too late');
  await other.getByRole('button', { name: 'Create the key' }).click();
  await other.waitForURL('**/sign-in?ended=yes&next=%2Fkeys');
  await other.getByText('Your session has ended.').waitFor();
  await expectNoViolations(other);
});

test('an account is closed after its address was typed, and a sign-in opens it again', async () => {
  const email = 'leaving@example.org';
  const { page, accountId } = await signedInPage(site, { email, credits: 175 });
  await open(page, '/settings', 'Settings');
  await page.getByRole('button', { name: 'Delete the account' }).click();
  const dialog = page.getByRole('dialog');
  const action = dialog.getByRole('button', { name: 'Delete the account' });
  await dialog.getByText('You lose 175 paid and 0 promotional credits.').waitFor();
  await dialog.getByLabel('E-mail address').fill('another@example.org');
  assert.ok(await action.isDisabled());
  await expectNoViolations(page);
  await dialog.getByLabel('E-mail address').fill(email);
  await action.click();
  await page.getByText('Your account is closed').waitFor();
  await page.getByText(/^Sign in before \d+ \w+ \d+ to keep it\./).waitFor();
  await expectNoViolations(page);
  const disabled = 'select from accounts where id = $1 and disabled_at is not null';
  const isDisabled = async () => (await sql(site.database.db, disabled, [accountId])).length === 1;
  assert.equal(await isDisabled(), true);
  await page.goto('/settings');
  await page.waitForURL('**/sign-in?next=%2Fsettings');
  await signIn(site, page, email);
  await page.getByText('Your account is open again, and will not be deleted.').waitFor();
  await expectNoViolations(page);
  assert.equal(await isDisabled(), false);
});
