import {
  command,
  type Database,
  queryFirst,
  queryValue,
  type Transaction,
} from '../database/database.ts';
import { mailOwner } from '../mail/outbox.ts';
import { FAILING_DAYS } from './outcome.ts';

type Notice = 'created' | 'replaced' | 'moved' | 'gone' | 'failing';

interface ChangedEndpoint {
  id: string;
  account_id: string;
  mode: 'live' | 'test';
  url: string | null;
  notice: Notice;
  /** Who did it, as the mail puts it; null for `gone` and `failing`, which the service did. */
  notice_from: string | null;
}

// At most one mail per endpoint in five minutes, however many changes.
const DUE = `webhook_endpoints where notice is not null
     and coalesce(told_at not between clock_now() - interval '5 minutes' and clock_now(), true)`;

const isNoticeDue = queryValue<[], boolean>(
  'webhook_notice_due',
  `select exists (select from ${DUE}) as is_due`,
  false,
);

const nextNotice = queryFirst<[], ChangedEndpoint>(
  'webhook_notice_next',
  `select id, account_id, mode, url, notice, notice_from from ${DUE}
   limit 1 for update skip locked`,
);

const markTold = command<[id: string], Transaction>(
  'webhook_notice_told',
  `update webhook_endpoints set notice = null, notice_from = null, told_at = clock_now()
   where id = $1`,
);

export interface NoticeDeps {
  db: Database;
  publicUrl(): string;
}

export async function mailOwners({ db, publicUrl }: NoticeDeps): Promise<void> {
  const mailNext = async (tx: Transaction) => {
    const endpoint = await nextNotice(tx);
    if (!endpoint) return false;
    await mailOwner(tx, { accountId: endpoint.account_id, ...mailOf(endpoint, publicUrl()) });
    await markTold(tx, endpoint.id);
    return true;
  };
  while ((await isNoticeDue(db)) && (await db.transaction(mailNext)));
}

const SUBJECTS: Record<Notice, string> = {
  created: 'A webhook endpoint was created',
  replaced: 'A webhook endpoint has a new secret',
  moved: 'A webhook endpoint has a new address',
  gone: 'A webhook endpoint was switched off',
  failing: 'A webhook endpoint was switched off',
};

function mailOf({ mode, url, notice, notice_from: from }: ChangedEndpoint, publicUrl: string) {
  const subject = SUBJECTS[notice];
  const page = `${publicUrl}/webhooks?mode=${mode}`;
  if (notice === 'gone' || notice === 'failing') {
    const cause =
      notice === 'gone'
        ? 'it responded with HTTP status 410'
        : `every delivery has failed for ${FAILING_DAYS} days`;
    const text = `Nothing more is sent to ${url}, because ${cause}.

Events that it has not received wait for it. Correct the receiver, then enable the endpoint again:
${page}
`;
    return { subject, text };
  }
  // A thief may have chosen the host, but the owner needs it to recognize the endpoint.
  const text = `${subject}: ${url === null ? 'without an address' : new URL(url).host}
By: ${from ?? 'unknown'}

If it was you, there is nothing to do.

If it was not you, somebody else uses your account. Delete the endpoint, and revoke the API keys
that you do not know:
${page}
${publicUrl}/keys
`;
  return { subject, text };
}
