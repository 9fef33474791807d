import {
  command,
  type Database,
  namedStatement,
  type Queryable,
  query,
  statement,
  type Transaction,
} from '../database/database.ts';
import { ApiError, invalidRequest } from '../kernel/errors.ts';
import { newId } from '../kernel/ids.ts';
import type { EventType } from './events.ts';
import { newWebhookSecret } from './signature.ts';

export const MAX_ENDPOINTS = 10;
const MAX_PER_HOUR = 30;
const OVERLAP_HOURS = 24;

/** Which tasks' events an endpoint gets: those of live keys, or those of test keys. */
type Mode = 'live' | 'test';

export interface Owner {
  accountId: string;
  mode: Mode;
}

/** `by`: who makes the change, as the mail to the owner puts it. */
export interface ActingOwner extends Owner {
  by: string;
}

/** An endpoint, without its secret. */
export interface WebhookEndpoint {
  id: string;
  mode: Mode;
  /** Where events are sent; null: they are only kept in the log. */
  url: string | null;
  description: string | null;
  events: EventType[];
  created_at: Date;
  disabled_at: Date | null;
  /** `gone`: it responded 410; `failing`: every delivery failed for five days. */
  disabled_because: 'owner' | 'gone' | 'failing' | null;
  /** When deliveries began to fail; null: the last one arrived. */
  failing_since: Date | null;
  /** Until when the previous secret still signs; null: there is none. */
  earlier_secret_until: Date | null;
}

export type EndpointWithSecret = WebhookEndpoint & { secret: string };

const COLUMNS = `id, mode, url, description, events, created_at,
   disabled_at, disabled_because, failing_since,
   case when earlier_secret_until > clock_now() then earlier_secret_until end
     as earlier_secret_until`;

/** An endpoint of the caller. $1 to $3 are its id, account and mode. */
const OWN = 'id = $1 and account_id = $2 and mode = $3 and deleted_at is null';

export const listEndpoints = query<[accountId: string, mode: Mode], WebhookEndpoint>(
  'webhook_endpoints_list',
  `select ${COLUMNS} from webhook_endpoints
   where account_id = $1 and mode = $2 and deleted_at is null order by id`,
);

const READ = statement(
  'webhook_endpoint_read',
  `select ${COLUMNS} from webhook_endpoints where ${OWN}`,
);

export async function readEndpoint(
  db: Queryable,
  owner: Owner,
  id: string,
): Promise<WebhookEndpoint> {
  const [row] = await db.query<WebhookEndpoint>(READ, [id, owner.accountId, owner.mode]);
  return required(row);
}

// Serializes the creates of an account, so that the count is exact.
const LOCK = statement(
  'webhook_endpoints_lock',
  `select pg_advisory_xact_lock(hashtextextended('webhook endpoints ' || $1, 0))`,
);

// Each new endpoint mails the owner, so deleted ones count for an hour.
const COUNT = statement(
  'webhook_endpoints_count',
  `select count(*) filter (where deleted_at is null)::int as endpoints,
     count(*) filter (where created_at > clock_now() - interval '1 hour')::int as recent
   from webhook_endpoints where account_id = $1 and mode = $2`,
);

const INSERT = namedStatement(
  'webhook_endpoint_insert',
  `insert into webhook_endpoints (id, account_id, mode, url, description, events, secret, notice,
     notice_from)
   values (:id, :accountId, :mode, :url, :description, :events::text[], :secret,
     case when :url::text is not null then 'created' end,
     case when :url::text is not null then :by::text end)
   returning ${COLUMNS}, secret`,
);

export interface Choice {
  url: string | null;
  description: string | null;
  events: EventType[];
}

/**
 * Mails the owner, since the thief of a key could leave an endpoint behind. An endpoint without a
 * URL sends nothing, so it needs no mail.
 * @throws ApiError `invalid_request` if the account has as many endpoints as it may have;
 *   `rate_limited`
 */
export function createEndpoint(
  db: Database,
  { accountId, mode, by }: ActingOwner,
  choice: Choice,
): Promise<EndpointWithSecret> {
  return db.transaction(async (tx) => {
    await tx.query(LOCK, [accountId]);
    const [count] = await tx.query<{ endpoints: number; recent: number }>(COUNT, [accountId, mode]);
    if (count && count.endpoints >= MAX_ENDPOINTS) throw tooMany();
    if (count && count.recent >= MAX_PER_HOUR) throw tooFast();
    const secret = newWebhookSecret();
    const given = { ...choice, id: newId('webhook'), accountId, mode, secret, by };
    const [row] = await tx.query<EndpointWithSecret>(INSERT, INSERT.values(given));
    return required(row);
  });
}

function tooMany(): ApiError {
  const message = `An account may have ${MAX_ENDPOINTS} endpoints. Delete one that is not needed.`;
  const details = { field: 'url', reason: 'too_many_endpoints', limit: MAX_ENDPOINTS };
  return invalidRequest(message, details);
}

function tooFast(): ApiError {
  const message = `An account may make ${MAX_PER_HOUR} endpoints in an hour.`;
  const policy = { name: 'webhooks', max: MAX_PER_HOUR, seconds: 3600 };
  return new ApiError('rate_limited', message, { retryAfterSeconds: 600, policy });
}

const HAS_NEW_URL = '(:url::text is not null and :url is distinct from url)';

// Enabling an endpoint again or changing its URL clears its failures.
const UPDATE = namedStatement(
  'webhook_endpoint_update',
  `update webhook_endpoints set
     url = coalesce(:url, url),
     description = case when :description::text is null then description
       else nullif(:description, '') end,
     events = coalesce(:events::text[], events),
     failures = case when :enabled::boolean or ${HAS_NEW_URL} then 0 else failures end,
     failing_since = case when :enabled::boolean or ${HAS_NEW_URL} then null else failing_since end,
     paused_until = case when :enabled::boolean or ${HAS_NEW_URL} then null else paused_until end,
     notice = case when ${HAS_NEW_URL} then 'moved'
       when :enabled::boolean and notice in ('gone', 'failing') then null else notice end,
     notice_from = case when ${HAS_NEW_URL} then :by else notice_from end,
     disabled_at = case when :enabled::boolean then null
       when not :enabled::boolean then coalesce(disabled_at, clock_now()) else disabled_at end,
     disabled_because = case when :enabled::boolean then null
       when not :enabled::boolean then coalesce(disabled_because, 'owner')
       else disabled_because end
   where id = :id and account_id = :accountId and mode = :mode and deleted_at is null
   returning ${COLUMNS}`,
);

/** Fields that are not given stay unchanged. An empty description removes it. */
export type EndpointChange = Partial<Choice> & { enabled?: boolean };

/** Mails the owner about a new URL. @throws ApiError `not_found` */
export async function updateEndpoint(
  db: Queryable,
  owner: ActingOwner,
  id: string,
  change: EndpointChange,
): Promise<WebhookEndpoint> {
  const { url = null, description = null, events = null, enabled = null } = change;
  const values = UPDATE.values({ ...owner, id, url, description, events, enabled });
  const [row] = await db.query<WebhookEndpoint>(UPDATE, values);
  return required(row);
}

const REPLACE_SECRET = namedStatement(
  'webhook_endpoint_secret',
  `update webhook_endpoints set earlier_secret = secret, secret = :secret,
     earlier_secret_until = clock_now() + interval '${OVERLAP_HOURS} hours',
     notice = 'replaced', notice_from = :by
   where id = :id and account_id = :accountId and mode = :mode and deleted_at is null
   returning ${COLUMNS}, secret`,
);

/**
 * For a day the previous secret signs too, so that a receiver can switch without refusing a
 * delivery. Mails the owner. @throws ApiError `not_found`
 */
export async function replaceSecret(
  db: Queryable,
  owner: ActingOwner,
  id: string,
): Promise<EndpointWithSecret> {
  const values = REPLACE_SECRET.values({ ...owner, id, secret: newWebhookSecret() });
  const [row] = await db.query<EndpointWithSecret>(REPLACE_SECRET, values);
  return required(row);
}

const DELETE = statement(
  'webhook_endpoint_delete',
  `update webhook_endpoints set deleted_at = coalesce(deleted_at, clock_now())
   where id = $1 and account_id = $2 and mode = $3 returning id`,
);

/** Stops its deliveries; the upkeep removes its log. Idempotent. @throws ApiError `not_found` */
export async function deleteEndpoint(db: Queryable, owner: Owner, id: string): Promise<void> {
  const [row] = await db.query(DELETE, [id, owner.accountId, owner.mode]);
  required(row);
}

export const eraseOf = command<[accountId: string], Transaction>(
  'webhook_endpoints_erase',
  `update webhook_endpoints set deleted_at = coalesce(deleted_at, clock_now()),
     url = 'https://erased.invalid', description = null, earlier_secret = null, notice = null
   where account_id = $1`,
);

function required<Row>(row: Row | undefined): Row {
  if (row) return row;
  throw new ApiError('not_found', 'This account has no webhook endpoint with this id.');
}
