import { type Database, statement } from '../database/database.ts';
import type { SendMail } from '../mail/mailer.ts';
import { FAILING_DAYS } from './outcome.ts';

// A mail takes two minutes at most, so after five it failed or its process has died. These minutes
// also keep an owner from getting a mail for each of many changes.
const CLAIM = statement(
  'webhook_notice_claim',
  `update webhook_endpoints set mail_claimed_at = clock_now() where id = (
     select id from webhook_endpoints where notice is not null
       and coalesce(mail_claimed_at not between clock_now() - interval '5 minutes'
         and clock_now(), true)
     limit 1 for update skip locked)
   returning id, account_id, mode, url, notice, notice_from, mail_claimed_at::text as claim`,
);

/** What the owner of an endpoint is told of. */
type Notice = 'created' | 'replaced' | 'moved' | 'gone' | 'failing';

interface Claimed {
  id: string;
  account_id: string;
  mode: 'live' | 'test';
  url: string;
  notice: Notice;
  /** Who did it, in the words of the mail; null: the service. */
  notice_from: string | null;
  claim: string;
}

// What happened since the claim gets a mail of its own.
const SENT = statement(
  'webhook_notice_sent',
  `update webhook_endpoints set notice = null, notice_from = null
   where id = $1 and mail_claimed_at = $2::timestamptz and notice = $3`,
);

export interface NoticeDeps {
  db: Database;
  /** The e-mail address of an account. */
  emailOf(accountId: string): Promise<string | undefined>;
  sendMail: SendMail;
  publicUrl(): string;
}

/**
 * Mails the owners whose endpoints were made, changed or switched off. A mail whose process died is
 * sent again.
 */
export async function tellOwners(deps: NoticeDeps): Promise<void> {
  for (;;) {
    const [claimed] = await deps.db.query<Claimed>(CLAIM);
    if (!claimed) return;
    const to = await deps.emailOf(claimed.account_id);
    const mail = to !== undefined && { to, ...mailOf(claimed, deps.publicUrl()) };
    if (mail && !(await deps.sendMail(mail))) continue;
    await deps.db.query(SENT, [claimed.id, claimed.claim, claimed.notice]);
  }
}

const SUBJECTS: Record<Notice, string> = {
  created: 'A webhook endpoint was created',
  replaced: 'A webhook endpoint has a new secret',
  moved: 'A webhook endpoint has a new address',
  gone: 'A webhook endpoint was switched off',
  failing: 'A webhook endpoint was switched off',
};

function mailOf({ mode, url, notice, notice_from: from }: Claimed, publicUrl: string) {
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
  // The address may be the text of a thief, but it is what the owner has to recognize.
  const text = `${subject}: ${url === '' ? 'without an address' : new URL(url).host}
By: ${from ?? 'unknown'}

If it was you, there is nothing to do.

If it was not you, somebody else uses your account. Delete the endpoint, and revoke the API keys
that you do not know:
${page}
${publicUrl}/keys
`;
  return { subject, text };
}
