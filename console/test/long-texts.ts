import type { Page } from 'playwright-core';
import { createAccount } from '../../server/src/accounts/accounts.ts';
import { createKey } from '../../server/src/accounts/api-keys.ts';
import { grant } from '../../server/src/ledger/ledger.ts';
import { recordAction } from '../../server/src/operator/actions.ts';
import { createEndpoint } from '../../server/src/webhooks/endpoints.ts';
import { EVENT_TYPES } from '../../server/src/webhooks/events.ts';
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
  const endpointId = await failingEndpoint(site, accountId);
  const { page } = await signedInPage(site, { email: LONG_EMAIL });
  return { page, accountId, endpointId, tasks: [failed, held, live] };
}

/** A webhook endpoint with a long address, whose receiver responds with a long text. */
async function failingEndpoint(site: Site, accountId: string): Promise<string> {
  const { db } = site.database;
  const { id } = await createEndpoint(
    db,
    { accountId, mode: 'live', by: 'a test' },
    {
      url: `${ADDRESS}${WORD}`,
      description: `Orders ${WORD.slice(0, 190)}`,
      events: [...EVENT_TYPES],
    },
  );
  await sql(db, 'update webhook_endpoints set failing_since = clock_now() where id = $1', [id]);
  const query = `with delivery as (
      insert into webhook_deliveries (event_id, endpoint_id, type, task_id, attempts, state, due_at)
      select 'evt_' || md5(state), $1, 'task.failed', 'task_0VGq3v9x7Zk3fQ2mR8yT1bNc', 2, state,
        case state when 'waiting' then clock_now() + interval '2 hours' end
      from unnest(array['delivered', 'failed', 'waiting']) state returning id)
    insert into webhook_attempts (delivery_id, number, at, duration_ms, status, cause, response)
    select id, n, clock_now(), 15000, case n when 2 then 500 end,
      case n when 1 then 'The host took longer than 15 seconds' end,
      case n when 2 then repeat('x', 1024) end
    from delivery, generate_series(1, 2) n`;
  await sql(db, query, [id]);
  return id;
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
