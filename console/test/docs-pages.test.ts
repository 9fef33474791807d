import assert from 'node:assert/strict';
import { signedInPage, signOut } from './signed-in.ts';
import { docsAddresses, expectNoViolations, open, openSite, signIn, siteOf, test } from './site.ts';

const OPERATOR = 'operator@example.com';
const site = await siteOf(() => openSite({ ADMIN_EMAILS: OPERATOR }));

test('no page of the documentation has a fault of accessibility', async () => {
  const { page } = await signedInPage(site, { email: OPERATOR });
  const faults: string[] = [];
  for (const address of await docsAddresses(site, page)) {
    await open(page, address);
    await expectNoViolations(page).catch((error: Error) => faults.push(error.message));
  }
  assert.deepEqual(faults, []);
});

test('a fresh test key is put into the samples of who is signed in', async () => {
  const page = await site.newPage();
  await page.goto('/docs/quickstart');
  const button = page.getByRole('button', { name: 'Fill in a fresh test key' });
  await button.click();
  await page.waitForURL(/sign-in\?next=%2Fdocs%2Fquickstart/);
  await signIn(site, page, 'reader@example.com');
  await page.waitForURL('**/docs/quickstart');
  await page.route('**/console/api/keys', (route) => route.fulfill({ body: 'not of the service' }));
  await button.click();
  await page.getByText('That did not work').waitFor();
  await page.unroute('**/console/api/keys');
  await button.click();
  await page.getByText('Every sample has it now').waitFor();
  const sample = page.locator('code', { hasText: 'FRAMEWRIGHT_API_KEY=' }).first();
  assert.match((await sample.textContent()) ?? '', /FRAMEWRIGHT_API_KEY=fw_test_\w{30}/);
  await expectNoViolations(page);
  await page.goto('/docs/test-keys');
  const unfilled = page.locator('.docs-code', { hasText: 'fw_test_...' });
  assert.equal(await unfilled.count(), 0);
  const other = await page.context().newPage();
  await other.goto('/playground');
  await signOut(other);
  await other.waitForURL(/\/$/);
  await page.reload();
  assert.ok((await unfilled.count()) > 0, 'the key is gone after the sign-out in another window');
});

test('the request of a sample is filled into the playground, also after a sign-in', async () => {
  const page = await site.newPage();
  await page.goto('/docs/inputs');
  await page.getByRole('link', { name: 'Try it in the playground' }).nth(1).click();
  await page.waitForURL(/sign-in\?next=/);
  await signIn(site, page, 'dancer@example.com');
  await page.getByText('A link has filled in this form.').waitFor();
  const prompt = page.getByLabel('Prompt');
  assert.equal(await prompt.inputValue(), 'The robot dances like the person in the clip');
  assert.ok(await page.getByRole('radio', { name: 'References' }).isChecked());
  assert.equal(
    await page
      .getByLabel(/^Seconds|seconds/)
      .first()
      .inputValue(),
    '3',
  );
  assert.equal(await page.getByText('Left out').count(), 0);
  await expectNoViolations(page);
});

test('a hostile link to the playground fills in only what the API takes', async () => {
  const { page } = await signedInPage(site);
  const sent: string[] = [];
  page.on('request', (request) => {
    if (request.method() !== 'GET' || !request.url().startsWith(site.url)) sent.push(request.url());
  });
  const given = {
    mode: 'image-to-video',
    prompt: '<img src=x onerror=alert(1)>',
    image_url: 'javascript:alert(1)',
    end_image_url: 'https://user:secret@example.com/a.png',
    reference_image_urls: ['https://example.com/a.png', 'upload:obj_stolen'],
    reference_video_durations: [3],
    model: 'video-2.0-mini',
    resolution: '4k',
    duration: 999,
    seed: '7',
    submit: true,
  };
  const json = JSON.stringify(given).replace('{', '{"__proto__":{"seed":1},');
  await page.goto(`/playground?request=${encodeURIComponent(json)}`);
  const told = (await page.getByText('Left out').textContent()) ?? '';
  for (const name of ['__proto__', 'image_url', 'reference_image_urls', 'resolution', 'duration'])
    assert.ok(told.includes(name), `${name} in ${told}`);
  assert.equal(await page.getByLabel('Prompt').inputValue(), given.prompt);
  assert.equal(await page.getByLabel('Length').inputValue(), '5');
  assert.equal(await page.getByLabel('Seed').inputValue(), '');
  assert.ok(await page.getByText('720p', { exact: true }).isVisible());
  await expectNoViolations(page);
  for (const text of ['[]', '{', 'null', '"x"', '%']) {
    await page.goto(`/playground?request=${encodeURIComponent(text)}`);
    await page.getByText('Left out').waitFor();
    assert.equal(await page.getByLabel('Prompt').inputValue(), '');
  }
  const others = sent.filter((url) => !url.includes('/console/api/price?'));
  assert.deepEqual(others, [], 'only the price is asked for');
});
