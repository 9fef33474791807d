import type { Page } from 'playwright-core';
import { createAccount } from '../../server/src/accounts/accounts.ts';
import { createKey } from '../../server/src/accounts/api-keys.ts';
import { grant } from '../../server/src/ledger/ledger.ts';
import { recordAction } from '../../server/src/operator/actions.ts';
import { sql } from '../../server/test/task-fixtures.ts';
import { galleryMaker } from './filled-gallery.ts';
import { signedInPage } from './signed-in.ts';
import { type Site, settled } from './site.ts';

const WORD = 'x'.repeat(228);
const ADDRESS = 'https://media.example.com/projects/2026/november/final-cut-3.mp4?token=3fK9';
const MESSAGE = `This file can't be read: ${ADDRESS}/${WORD}`;

export const LONG_EMAIL = `${'operator'.repeat(7)}@${'department.'.repeat(12)}example.com`;

/** A page of an operator whose account has long texts, and a balance of seven digits. */
export async function signedInWithLongTexts(site: Site) {
  const { db } = site.database;
  const accountId = await createAccount(db, LONG_EMAIL);
  const { keyId } = await createKey(db, { accountId, name: WORD.slice(0, 100) });
  await grant(db, { accountId, credits: 8_765_432, kind: 'paid', reference: WORD });
  const action = { command: 'accounts disable', actor: LONG_EMAIL, reason: WORD };
  await db.transaction((tx) =>
    recordAction(tx, action, { target: accountId, details: { note: WORD, address: ADDRESS } }),
  );
  const make = galleryMaker(site, ''); // it stores nothing: no task is completed
  const failed = await make(accountId, {
    prompt: WORD,
    apiKeyId: keyId,
    ended: 'invalid_media',
  });
  await sql(db, 'update tasks set error_message = $2 where id = $1', [failed, MESSAGE]);
  const held = await make(accountId, { prompt: `As in ${ADDRESS}, but at night` });
  await sql(db, `update tasks set phase = 'held', held_cause = 'outcome' where id = $1`, [held]);
  const live = await make(accountId, { prompt: ADDRESS });
  const { page } = await signedInPage(site, { email: LONG_EMAIL });
  return { page, accountId, tasks: [failed, held, live] };
}

/** The narrowest window, and the narrowest one after each step of the design; usual ones. */
const WIDTHS = [320, 390, 448, 640, 768, 1024, 1920];

/** How many pixels too wide the page is, at which widths, and what sticks out there. */
export async function overflowsOf(page: Page, path: string): Promise<string[]> {
  await page.goto(path);
  await settled(page);
  const found: string[] = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    const fault = await page.evaluate(overflow);
    if (fault) found.push(`${path} at ${width} px: ${fault}`);
  }
  return found;
}

function overflow(): string | undefined {
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth <= clientWidth) return undefined;
  const outside = [...document.querySelectorAll('body *')].filter(
    (one) => one.checkVisibility() && one.getBoundingClientRect().right > clientWidth,
  );
  const texts = outside.map(({ outerHTML }) => outerHTML.slice(0, 90));
  return `${scrollWidth - clientWidth} px too wide: ${texts.slice(-2).join(' … ')}`;
}
