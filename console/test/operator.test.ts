import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { openWakeUps } from '../../server/src/wake-ups/wake-ups.ts';
import { quiet } from '../../server/test/database.ts';
import { makeHeldTask, type TaskFixture } from '../../server/test/task-fixtures.ts';
import { NO_BROWSER } from './browser.ts';
import { signedInPage } from './signed-in.ts';
import { expectNoViolations, openSite, type Site, settled } from './site.ts';

const OPERATOR = 'operator@example.com';

describe('the operator’s console', { skip: NO_BROWSER }, () => {
  let site: Site;
  let fixture: TaskFixture;

  before(async () => {
    site = await openSite({ ROLES: 'api', ADMIN_EMAILS: OPERATOR });
    const { database } = site;
    const wakeUps = openWakeUps({ url: database.url, db: database.db, log: quiet });
    const close = async () => {};
    const deps = { db: database.db, wakeUps, log: quiet };
    fixture = {
      ...{ database, db: database.db, wakeUps, close, closeAudited: close },
      deps: { ...deps, providerName: 'local', createWaitSeconds: 20 },
    };
  });

  after(() => site?.close());

  test('an operator decides a held task, and sees the record of it', async () => {
    const { held } = await makeHeldTask(fixture);
    const { page } = await signedInPage(site, { email: OPERATOR });
    await page.goto('/operator');
    await settled(page, 'Operator');
    await expectNoViolations(page);
    await page.getByRole('navigation', { name: 'Operator' }).getByText('Tasks').click();
    await settled(page, 'Tasks');
    await expectNoViolations(page);
    await page.getByRole('link', { name: held.id }).click();
    await page.getByRole('table', { name: 'Evidence' }).waitFor();
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
    await expectNoViolations(page);
  });

  test('every page of it loads without a fault, and changes are made from them', async () => {
    const customer = await signedInPage(site, { credits: 100 });
    const { page: admin } = await signedInPage(site, { email: OPERATOR });
    for (const [path, title] of [
      ['/operator/providers', 'Providers'],
      ['/operator/accounts', 'Accounts'],
      ['/operator/orders', 'Orders'],
      ['/operator/orphans', 'Orphan jobs'],
      ['/operator/audit', 'Audit'],
      [`/operator/accounts/${customer.accountId}`, 'Account'],
    ] as const) {
      await admin.goto(path);
      await settled(admin, title);
      await expectNoViolations(admin);
    }
    await grantCredits(admin);
    await runAudit(admin);
  });

  test('what does not exist is said to be missing, without a retry', async () => {
    await expectNothingAt((await signedInPage(site, { email: OPERATOR })).page);
  });

  test('to others there is no such page', async () => {
    const { page } = await signedInPage(site);
    await page.goto('/operator');
    await settled(page, 'Page not found');
    await expectNoViolations(page);
    await page.goto('/operator/tasks');
    await settled(page, 'Page not found');
  });
});

async function grantCredits(admin: Page): Promise<void> {
  await admin.getByRole('button', { name: 'Grant credits' }).click();
  await admin.getByLabel('Credits', { exact: true }).fill('50');
  await admin.getByLabel('Reason').fill('a gift');
  await expectNoViolations(admin);
  await admin.getByRole('dialog').getByRole('button', { name: 'Grant credits' }).click();
  await admin.getByText('Done, and recorded.').waitFor();
  await admin.getByText('150', { exact: true }).first().waitFor();
}

async function runAudit(admin: Page): Promise<void> {
  await admin.goto('/operator/audit');
  await settled(admin, 'Audit');
  await admin.getByRole('button', { name: 'Run an audit' }).click();
  await admin.getByLabel('Reason').fill('after the gift');
  await admin.getByRole('dialog').getByRole('button', { name: 'Run it' }).click();
  await admin.getByText('everything agrees').waitFor();
}

async function expectNothingAt(admin: Page): Promise<void> {
  for (const [path, title, list] of [
    ['/operator/accounts/acc_x', 'Account not found', 'All accounts'],
    ['/operator/tasks/task_x', 'Task not found', 'All tasks'],
    ['/operator/orders/ord_x', 'Order not found', 'All orders'],
    ['/operator/nothing', 'Page not found', 'Go to the start page'],
    ['/operator/%', 'Page not found', 'Go to the start page'],
    ['/videos/%E0%A4%A', 'Page not found', 'Go to the start page'],
  ] as const) {
    await admin.goto(path);
    await settled(admin, title);
    await admin.getByRole('link', { name: list }).waitFor();
    assert.equal(await admin.getByRole('button', { name: 'Try again' }).count(), 0);
  }
  await expectNoViolations(admin);
}
