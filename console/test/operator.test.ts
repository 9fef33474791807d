import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { keepVerdict } from '../../server/src/moderation/verdicts.ts';
import { moveNow } from '../../server/src/tasks/transitions.ts';
import { openWakeUps } from '../../server/src/tasks/wake-ups.ts';
import { quiet } from '../../server/test/database.ts';
import { makeHeldTask, makeSubmittingTask, REQUEST, sql } from '../../server/test/task-fixtures.ts';
import { openCosts, openRefusing } from './operator-states.ts';
import { signedInPage } from './signed-in.ts';
import { expectNoViolations, open, openSite, settled, siteOf, test } from './site.ts';

const OPERATOR = 'operator@example.com';

const site = await siteOf(() => openSite({ ROLES: 'api', ADMIN_EMAILS: OPERATOR }));
const asOperator = async () => (await signedInPage(site, { email: OPERATOR })).page;

function fixture() {
  const { url, db } = site.database;
  const wakeUps = openWakeUps({ url, db, log: quiet });
  const deps = { db, wakeUps, log: quiet, providerName: 'local', createWaitSeconds: 20 };
  return { db, deps };
}

const makeHeld = () => makeHeldTask(fixture());

/** A task that waits for a review. */
async function makeReviewed() {
  const made = await makeSubmittingTask(fixture());
  const { db } = site.database;
  const verdict = { verdict: 'review', source: 'service', reason: 'a real person' } as const;
  await keepVerdict(db, made.task.id, verdict);
  await moveNow(db, made.task, { to: 'review', delaySeconds: 3600 });
  return made;
}

test('an operator decides a held task, and sees the record of it', async () => {
  const { held } = await makeHeld();
  const page = await asOperator();
  await open(page, '/operator', 'Operator');
  const decision = page.getByRole('link', { name: /1 task held/ });
  assert.equal(await decision.getAttribute('href'), `/operator/tasks/${held.id}`);
  await expectNoViolations(page);
  await page.getByRole('navigation', { name: 'Operator' }).getByText('Tasks').click();
  await settled(page, 'Tasks');
  await expectNoViolations(page);
  const ofTask = page.getByRole('row').filter({ hasText: held.id });
  await ofTask.getByRole('link', { name: /@/ }).waitFor();
  await page.getByRole('searchbox', { name: 'Find' }).fill(held.id);
  await page.keyboard.press('Enter');
  await page.getByRole('table', { name: 'Evidence' }).waitFor();
  await page.getByRole('link', { name: /@/ }).waitFor(); // of the account
  await expectNoViolations(page);
  await page.getByRole('button', { name: 'Decide' }).click();
  await page.getByText('There is a job').click();
  await page.getByLabel('The job’s id').fill('job-1');
  await page.getByText('End it with a refund').click();
  await page.getByLabel('Reason').fill('ticket 91');
  await expectNoViolations(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Decide' }).click();
  await page.getByText('Done, and recorded.').waitFor();
  await page.getByText('failed', { exact: true }).first().waitFor();
  await page.getByRole('navigation', { name: 'Operator' }).getByText('Actions').click();
  const row = page.getByRole('row').filter({ hasText: held.id });
  await row.waitFor();
  const text = await row.innerText();
  for (const part of [OPERATOR, 'reconcile', 'ticket 91']) assert.ok(text.includes(part), text);
  await row.getByRole('term').getByText('kind', { exact: true }).waitFor();
  assert.doesNotMatch(text, /[{}"]/);
  await expectNoViolations(page);
});

test('an operator sees what waits for a review, and allows it', async () => {
  const page = await asOperator();
  await open(page, '/operator/reviews', 'Reviews');
  await page.getByText('Nothing waits for a review').waitFor();
  const { task } = await makeReviewed();
  await page.reload();
  const row = page.getByRole('row').filter({ hasText: task.id });
  for (const text of [REQUEST.prompt, 'a real person', /@/]) await row.getByText(text).waitFor();
  await expectNoViolations(page);
  await row.getByRole('button', { name: 'Allow' }).click();
  await page.getByLabel('Reason').fill('ticket 94');
  await expectNoViolations(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Allow the request' }).click();
  await page.getByText('Done, and recorded.').waitFor();
  await page.getByText('Nothing waits for a review').waitFor();
  await page.getByRole('link', { name: 'Reviews', exact: true }).waitFor(); // without a count
  const text = 'select phase from tasks where id = $1';
  assert.deepEqual(await sql(site.database.db, text, [task.id]), [{ phase: 'submitting' }]);
});

test('held tasks of a filter are shown, then decided together', async () => {
  const { held } = await makeHeld();
  const page = await asOperator();
  await page.goto('/operator/tasks');
  await page.getByRole('link', { name: 'Decide many at once' }).click();
  await settled(page, 'Decide held tasks');
  await page.getByLabel('Provider').fill('nobody');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.getByText('No held task matches').waitFor();
  await page.getByLabel('Provider').fill(held.provider);
  await page.getByLabel('Cause').selectOption('acceptance');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.getByRole('link', { name: held.id }).waitFor();
  await page.getByRole('link', { name: /@/ }).first().waitFor();
  await expectNoViolations(page);
  await page.getByRole('button', { name: 'Decide all of these' }).click();
  await page.getByText('End them with a refund').click();
  await page.getByLabel('Reason').fill('ticket 92');
  await expectNoViolations(page);
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /^Decide/ })
    .click();
  await page.getByText('Done, and recorded.').waitFor();
  await page.getByText('No held task matches').waitFor();
  await page.locator('h1:focus').waitFor(); // the list and its button are gone
});

test('changes are made from its pages', async () => {
  const customer = await signedInPage(site, { credits: 100 });
  const admin = await asOperator();
  await expectProviders(admin);
  await expectBalances(admin, customer.accountId);
  await grantCredits(admin);
  await runAudit(admin);
  await runCommands(admin, customer.accountId);
});

test('an operator sets a route, sees what is wrong with another, and removes it', async () => {
  const page = await asOperator();
  await page.goto('/operator/providers');
  const routes = page.getByRole('table', { name: 'Routes' });
  const row = routes.getByRole('row', { name: /video-2.0-mini/ });
  await row.getByText('local, the default').waitFor();
  await row.getByRole('button', { name: 'Set the route' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Steps').fill('local; nowhere');
  await dialog.getByLabel('Reason').fill('ticket 92');
  await dialog.getByRole('button', { name: 'Set the route' }).click();
  await dialog.getByText(/must name .*, not nowhere/).waitFor();
  await expectNoViolations(page);
  await dialog.getByLabel('Steps').fill('local; fal model=owner/name share=1');
  await dialog.getByText('Order', { exact: true }).click();
  await dialog.getByRole('button', { name: 'Set the route' }).click();
  await page.getByText('Done, and recorded.').waitFor();
  await row.getByText('local; fal model=owner/name share=1').waitFor();
  await expectNoViolations(page);
  await row.getByRole('button', { name: 'Remove' }).click();
  await dialog.getByLabel('Reason').fill('ticket 93');
  await dialog.getByRole('button', { name: 'Set the route' }).click();
  await row.getByText('local, the default').waitFor();
});

test('an operator sees costs by day, model, connection and customer', async () => {
  const page = await asOperator();
  await open(page, '/operator', 'Operator');
  await page.getByText('No task has ended in this period').waitFor();
  const download = page.getByRole('link', { name: 'Download CSV' });
  await page.getByText('30 days').click();
  await page.locator('a[href$="per=day&days=30"]').waitFor();
  const [file] = await Promise.all([page.waitForEvent('download'), download.click()]);
  assert.equal(file.suggestedFilename(), 'costs-by-day-30-days.csv');
  for (const [by, loss] of Object.entries({
    Day: '2026-11-27',
    Model: 'a-model-with',
    Connection: 'openrouter',
    Customer: 'acc_2@studio.example.com',
  })) {
    await openCosts(page, by);
    const row = page.getByRole('table', { name: 'Costs' }).getByRole('row', { name: loss });
    await row.getByText('USD -1.4521').waitFor();
    await expectNoViolations(page);
  }
});

test('to others there is no such page', async () => {
  const { page } = await signedInPage(site);
  await open(page, '/operator', 'Page not found');
  await expectNoViolations(page);
  await open(page, '/operator/tasks', 'Page not found');
});

/** The default provider is marked; those that are not configured are not called open. */
async function expectProviders(admin: Page): Promise<void> {
  await admin.goto('/operator/providers');
  const rows = admin.getByRole('table', { name: 'Providers' }).getByRole('row');
  await rows.filter({ hasText: 'default' }).waitFor();
  const texts = (await rows.allInnerTexts()).slice(1);
  const open = texts.filter((text) => /\bopen\b/.test(text));
  assert.equal(open.length, 1, String(texts));
  assert.match(open[0] ?? '', /^local\s+default/);
  assert.ok(texts.length > 1);
  assert.equal(texts.filter((text) => text.includes('not configured')).length, texts.length - 1);
  await admin.getByRole('button', { name: 'Pause local' }).waitFor();
  assert.equal(await rows.getByRole('button').count(), 1, 'Pause of what gets no jobs anyway');
  await openRefusing(admin);
  await admin.getByRole('table', { name: 'Last 24 hours' }).getByText('4\u2009812').waitFor();
  await expectNoViolations(admin);
  await admin.unrouteAll();
}

/** The list of accounts shows the credits of each; leaves the page of the customer. */
async function expectBalances(admin: Page, accountId: string): Promise<void> {
  await admin.goto('/operator/accounts');
  const row = admin.getByRole('row').filter({ hasText: accountId });
  await row.waitFor();
  assert.match(await row.innerText(), /\b100\b/);
  await row.getByRole('link', { name: /@/ }).click();
  await settled(admin, 'Account');
}

async function grantCredits(admin: Page): Promise<void> {
  const button = admin.getByRole('button', { name: 'Grant credits' });
  for (const close of ['Cancel', 'Close']) {
    await button.click();
    await admin.getByRole('dialog').getByRole('button', { name: close }).click();
    await admin.getByRole('dialog').waitFor({ state: 'detached' });
    assert.ok(await button.evaluate((one) => one === document.activeElement), close);
  }
  await button.click();
  await admin.getByLabel('Credits', { exact: true }).fill('50');
  await admin.getByLabel('Reason').fill('a gift');
  await expectNoViolations(admin);
  await admin.getByRole('dialog').getByRole('button', { name: 'Grant credits' }).click();
  await admin.getByText('Done, and recorded.').waitFor();
  await admin.getByText('150', { exact: true }).first().waitFor();
}

async function runAudit(admin: Page): Promise<void> {
  await open(admin, '/operator/audit', 'Audit');
  await admin.getByRole('button', { name: 'Run an audit' }).click();
  await admin.getByLabel('Reason').fill('after the gift');
  await admin.getByRole('dialog').getByRole('button', { name: 'Run an audit' }).click();
  await admin.getByText('everything agrees').waitFor();
}

/** A read and a change that no other page offers. */
async function runCommands(admin: Page, accountId: string): Promise<void> {
  await admin.goto('/operator/commands');
  const dialog = admin.getByRole('dialog');
  await admin.getByRole('button', { name: 'Run keys list' }).click();
  await dialog.getByLabel('Account').fill(accountId);
  assert.equal(await dialog.getByLabel('Reason').count(), 0);
  await dialog.getByRole('button', { name: 'keys list' }).click();
  await dialog.getByText('none', { exact: true }).waitFor();
  await dialog.getByRole('button', { name: 'Done' }).click();
  const button = admin.getByRole('button', { name: 'Run credits clawback' });
  await button.click();
  await dialog.getByLabel('Account').fill(accountId);
  await dialog.getByLabel('Credits', { exact: true }).fill('5');
  await dialog.getByLabel('Payment').fill('no-such-grant');
  await dialog.getByLabel('Reference').fill('refund-1');
  await dialog.getByLabel('Reason').fill('ticket 93');
  await dialog.getByRole('button', { name: 'Claw credits back' }).click();
  await dialog.getByRole('alert').getByText('no-such-grant').waitFor();
  const granted = await admin.request.get(`/console/api/operator/accounts/${accountId}/statement`);
  const [first] = (await granted.json()).items;
  await dialog.getByLabel('Payment').fill(first.reference.replace('grant:', ''));
  await dialog.getByRole('button', { name: 'Claw credits back' }).click();
  await dialog.getByRole('term').getByText('booked').waitFor();
  await expectNoViolations(admin);
  await dialog.getByRole('button', { name: 'Done' }).click();
  assert.ok(await button.evaluate((one) => one === document.activeElement));
}
