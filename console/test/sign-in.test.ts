import assert from 'node:assert/strict';
import { after } from 'node:test';
import { sql } from '../../server/test/task-fixtures.ts';
import { startSimulatedOidc } from '../../simulators/oidc/oidc.ts';
import { addAuthenticator, addPasskey, signedInPage, signOut } from './signed-in.ts';
import {
  askForCode,
  expectNoViolations,
  open,
  openSite,
  settled,
  signIn,
  siteOf,
  test,
} from './site.ts';

/** Of single sign-on and of GitHub. */
const issuer = await startSimulatedOidc();
const { url, client } = issuer;
const site = await siteOf(() =>
  openSite({
    SIGNUP_CREDITS: '500',
    OIDC_ISSUER: url,
    GITHUB_URL: url,
    OIDC_CLIENT_ID: client.clientId,
    OIDC_CLIENT_SECRET: client.clientSecret,
    GITHUB_CLIENT_ID: client.clientId,
    GITHUB_CLIENT_SECRET: client.clientSecret,
  }),
);
after(() => issuer.close());

function otherThan(code: string): string {
  return code.replace(/^./, (digit) => String((Number(digit) + 1) % 10));
}

test('a stranger signs in by a code, and goes where they wanted to', async () => {
  const page = await site.newPage();
  await open(page, '/usage', 'Sign in');
  await page.locator('input[type=email]:focus').waitFor();
  await expectNoViolations(page);
  const code = await askForCode(site, page, 'grace@example.com');
  await expectNoViolations(page);
  await page.getByLabel('Code of eight digits').fill(`${code.slice(0, 4)} ${code.slice(4)}`);
  await settled(page, 'Usage');
  await page.getByRole('link', { name: /500.*credits available/ }).click();
  await page.getByRole('cell', { name: 'Sign-up credits' }).waitFor();
  await open(page, '/', 'Playground');
});

test('a 401 of a request that began before a sign-in does not end the session', async () => {
  const email = 'dorothy@example.com';
  const { page, accountId } = await signedInPage(site, { email });
  await open(page, '/keys', 'API keys');
  await sql(site.database.db, 'delete from sessions where account_id = $1', [accountId]);
  const signedIn = Promise.withResolvers<void>();
  const late = Promise.withResolvers<void>();
  await page.route('**/console/api/keys', async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    const response = await route.fetch();
    assert.equal(response.status(), 401);
    late.resolve(signedIn.promise.then(() => route.fulfill({ response })));
  });
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name').fill('ci');
  await page.getByRole('button', { name: 'Create the key' }).click();
  await page.evaluate(() => dispatchEvent(new Event('focus'))); // looks for the session
  await settled(page, 'Sign in');
  await signIn(site, page, email);
  await settled(page, 'API keys');
  const arrived = page.waitForResponse('**/console/api/keys');
  signedIn.resolve();
  await late.promise;
  await (await arrived).finished();
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve)));
  await settled(page, 'API keys');
  assert.equal(new URL(page.url()).pathname, '/keys');
});

test('a wrong code says so, five of them end the code', async () => {
  const page = await site.newPage();
  await page.goto('/sign-in');
  const code = await askForCode(site, page, 'linus@example.com');
  const field = page.getByLabel('Code of eight digits');
  for (let tries = 0; tries < 5; tries += 1) {
    await field.fill(otherThan(code));
    await page.getByRole('alert').getByText('This code is wrong').waitFor();
    await field.fill('');
    await page.getByRole('alert').waitFor({ state: 'detached' });
  }
  await expectNoViolations(page);
  await field.fill(code);
  await page.getByRole('alert').getByText('ask for a new one').waitFor();
  assert.equal((await page.request.get('/console/api/me')).status(), 401);
});

test('the buttons of issuers sign in, and lead to where one wanted to go', async () => {
  const page = await site.newPage();
  const chooseIssuer = async (name: string) => {
    await page.context().clearCookies();
    await page.goto('/sign-in?next=/usage');
    await page.getByRole('link', { name: `Continue with ${name}` }).click();
  };
  await chooseIssuer('single sign-on');
  await page.getByRole('button', { name: 'No, thanks' }).click();
  await page.getByRole('alert').getByText('did not allow').waitFor();
  for (const name of ['single sign-on', 'GitHub']) {
    await chooseIssuer(name);
    await page.getByLabel('E-mail address').fill('margaret@example.com');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await settled(page, 'Usage');
  }
  await page.getByRole('link', { name: /500.*credits available/ }).waitFor();
});

test('a passkey signs in, and without one the page says so', async () => {
  const { page } = await signedInPage(site, { email: 'key@example.com' });
  await addAuthenticator(page);
  await open(page, '/usage', 'Usage');
  const leave = async () => {
    await signOut(page);
    await settled(page, 'Pay for the video');
    await page.goto('/sign-in?next=/usage');
  };
  await leave();
  const button = page.getByRole('button', { name: 'Use a passkey' });
  await button.click();
  await page.getByRole('alert').getByText('No passkey was chosen').waitFor();
  await signIn(site, page, 'key@example.com');
  await settled(page, 'Usage');
  await addPasskey(page, 'laptop');
  await leave();
  await button.click();
  await settled(page, 'Usage');
});
