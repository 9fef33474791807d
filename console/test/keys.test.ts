import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import type { Page } from 'playwright-core';
import { outdateProof, signedInPage } from './signed-in.ts';
import { codeFromLog, expectNoViolations, open, openSite, settled, siteOf, test } from './site.ts';

/** Where the webhooks of the tests go. */
const receiver = createServer((request, response) => {
  request.resume().on('end', () => response.writeHead(receiverStatus).end('thank <b>you</b>'));
});
let receiverStatus = 200;
await once(receiver.listen(0, '127.0.0.1'), 'listening');
const receiverHost = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
const site = await siteOf(() => openSite({ OUTBOUND_ALLOW: receiverHost }));
after(() => void receiver.close());

/** The dialog with the secret stays until the secret is copied. */
async function storeSecret(page: Page, secret: string): Promise<void> {
  const done = page.getByRole('button', { name: 'Done' });
  await page.goBack();
  await settled(page, 'Settings');
  await page.goForward();
  await settled(page, 'API keys');
  assert.ok(await page.evaluate(isLeavingAskedFor));
  for (let tries = 0; tries < 3; tries += 1) await page.keyboard.press('Escape');
  await page.mouse.click(5, 5);
  assert.ok(await done.isDisabled(), 'the secret is not stored yet');
  await page.getByLabel('I have stored it').check();
  await page.getByLabel('I have stored it').uncheck();
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('button', { name: 'Copy the secret' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), secret);
  await done.click();
  await page.locator('h1:focus').waitFor(); // the button of the empty list is gone
  await page.waitForFunction(() => dispatchEvent(new Event('beforeunload', { cancelable: true })));
}

/** Ends the dialog with a new secret. @returns the secret */
async function readSecret(page: Page): Promise<string> {
  const secret = (await page.locator('[data-secret]').textContent())?.trim() ?? '';
  await expectNoViolations(page);
  await page.getByLabel('I have stored it').check();
  await page.getByRole('button', { name: 'Done' }).click();
  return secret;
}

/** Whether the browser would ask before the page is left. */
function isLeavingAskedFor(): boolean {
  return !dispatchEvent(new Event('beforeunload', { cancelable: true }));
}

function callApi(secret: string, path: string, request: RequestInit = {}): Promise<Response> {
  const headers = { ...request.headers, authorization: `Bearer ${secret}` };
  return fetch(`${site.service.url}/api/v1/${path}`, { ...request, headers });
}

test('a first key is made, used against the API, capped and revoked', async () => {
  const { page } = await signedInPage(site, { credits: 700 });
  await page.goto('/settings');
  await page.getByRole('link', { name: 'API keys' }).first().click();
  await settled(page, 'API keys');
  await page.getByText('No API key yet').waitFor();
  await expectNoViolations(page);

  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name').fill('production <b>server</b>');
  await page.getByLabel('Monthly cap').fill('500');
  await page.reload(); // nothing that was entered is lost
  await page.getByRole('button', { name: 'New key' }).click();
  assert.equal(await page.getByLabel('Name').inputValue(), 'production <b>server</b>');
  assert.equal(await page.getByLabel('Monthly cap').inputValue(), '500');
  await expectNoViolations(page);
  await page.getByRole('button', { name: 'Create the key' }).press('Enter');
  const secret = (await page.locator('[data-secret]').textContent())?.trim() ?? '';
  assert.match(
    await page.getByRole('region', { name: 'A first request' }).innerText(),
    new RegExp(secret),
  );
  await expectNoViolations(page);
  await storeSecret(page, secret);
  assert.equal(await page.getByText(secret).count(), 0);

  const used = await callApi(secret, 'credits');
  assert.equal(used.status, 200);
  assert.equal((await used.json()).available_credits, 700);

  await page.getByRole('button', { name: /^Edit/ }).click();
  await page.getByLabel('Name').fill('production');
  await page.getByLabel('Last day').fill('2099-01-31');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('production', { exact: true }).waitFor();
  await page.getByText('expires').getByText('31 Jan 2099').waitFor();
  await page.getByRole('button', { name: /requests in 30 days/ }).click();
  await page.getByRole('img', { name: /Requests per day/ }).waitFor();
  await expectNoViolations(page);
  await page.keyboard.press('Escape');

  await page.getByRole('button', { name: 'Revoke production' }).click();
  await page.locator('dialog button:focus', { hasText: 'Cancel' }).waitFor();
  await expectNoViolations(page);
  await page.getByRole('button', { name: 'Revoke the key' }).click();
  await page.locator('h1:focus').waitFor(); // it was the last row
  await page.getByText('Revoked and expired keys (1)').click();
  await page.getByRole('table', { name: 'Ended API keys' }).waitFor();
  assert.equal((await callApi(secret, 'credits')).status, 401);
  await expectNoViolations(page);
});

test('an endpoint is made, hears a test event, fails, is sent to again and is deleted', async () => {
  const { page } = await signedInPage(site);
  await open(page, '/webhooks', 'Webhooks');
  await page.getByText('No endpoint yet').waitFor();
  await expectNoViolations(page);
  await page.getByRole('button', { name: 'New endpoint' }).click();
  await page.getByLabel('Address').fill('https://10.0.0.1/hook');
  await page.getByRole('button', { name: 'Create the endpoint' }).click();
  await page
    .getByRole('alert')
    .getByText(/^The .*public address/)
    .waitFor();
  await page.getByLabel('Address').fill(`http://${receiverHost}/hook`);
  await page.getByLabel('credits.low').check();
  await expectNoViolations(page);
  await page.getByRole('button', { name: 'Create the endpoint' }).click();
  assert.match(await readSecret(page), /whsec_/);
  await expectNoViolations(page);

  await page.getByRole('link', { name: `http://${receiverHost}/hook` }).click();
  await page.getByText('Nothing was sent yet').waitFor();
  await page.getByRole('button', { name: 'Send a test event' }).click();
  await page.getByText('Delivered').waitFor();
  receiverStatus = 500;
  await page.getByRole('button', { name: /^Send again evt_/ }).click();
  await page.getByText('2 tries, HTTP status 500').click();
  await page.getByText('thank <b>you</b>').last().waitFor();
  await page.getByText('Failing', { exact: true }).waitFor();
  await expectNoViolations(page);
  receiverStatus = 200;

  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByLabel('credits.low').uncheck();
  await page.getByLabel('Description').fill('orders of the shop');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('task.completed, task.failed', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Disable' }).click();
  await page.getByRole('button', { name: 'Disable the endpoint' }).click();
  await page.getByText('Disabled', { exact: true }).waitFor();
  await expectNoViolations(page);
  await page.getByRole('button', { name: 'Enable' }).click();
  await page.getByRole('button', { name: 'Replace the secret' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Replace the secret' }).click();
  await readSecret(page);
  await page.getByText('Previous secret valid until').waitFor();
  await page.route('**/console/api/webhooks?mode=*', (route) => route.abort());
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete the endpoint' }).click();
  await page.getByText('No connection').waitFor();
  await page.unroute('**/console/api/webhooks?mode=*');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('No endpoint yet').waitFor();
  await page.goto('/webhooks/we_unknown');
  await page.getByText('Endpoint not found').waitFor();
});

/** Closes the next dialog for a proof before it is painted, as Escape may on a busy machine. */
function closeNextProof(): void {
  const observer = new MutationObserver(() => {
    const [, proof] = document.querySelectorAll<HTMLDialogElement>('dialog[open]');
    if (!proof) return;
    observer.disconnect();
    proof.close();
  });
  observer.observe(document.body, { subtree: true, childList: true, attributeFilter: ['open'] });
}

test('long after the sign-in a new key is confirmed first, and nothing typed is lost', async () => {
  const { page, accountId } = await signedInPage(site);
  await outdateProof(site, accountId);
  await open(page, '/keys', 'API keys');
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name').fill('production server');
  const create = page.getByRole('button', { name: 'Create the key' });
  const proof = page.getByRole('dialog', { name: 'Confirm that it is you' });
  await page.evaluate(closeNextProof);
  await create.click();
  await page.getByText('You did not confirm that it is you').waitFor();
  await create.click();
  await proof.getByText('Confirm that it is you to create an API key.').waitFor();
  await expectNoViolations(page);
  await page.keyboard.press('Escape');
  await page.getByText('You did not confirm that it is you').waitFor();
  await create.click();
  const before = site.service.output().length;
  await proof.getByRole('button', { name: 'Send me a code' }).click();
  const code = await codeFromLog(site, before);
  const field = proof.getByLabel('Code of eight digits');
  await field.fill(String((Number(code) + 1) % 1e8).padStart(8, '0'));
  await proof.getByText(/^This code is wrong/).waitFor();
  await expectNoViolations(page);
  await field.fill(code);
  await page.getByRole('dialog', { name: 'The secret of “production server”' }).waitFor();
  await readSecret(page);
  await page.getByRole('button', { name: 'Edit production server' }).waitFor();
});
