// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of the product's files

/** A guard of the product, and the test that must fail without it. */
export interface Guard {
  file: string;
  /** Stands once in the file. */
  text: string;
  broken: string;
  test: string;
  /** How the title of the test begins. */
  title: string;
}

type Row = Pick<Guard, 'text' | 'broken' | 'title'>;

/** The guards of a file that one test file watches; both in `server/src`. */
function guards(file: string, test: string, rows: Row[]): Guard[] {
  return rows.map((row) => ({ ...row, file: `server/src/${file}`, test: `server/src/${test}` }));
}

const CREDITS = [
  ...guards('ledger/reserve.ts', 'ledger/lots.test.ts', [
    {
      text: 'debt > 0 or coalesce(lots_due_at <= clock_now(), false) as is_behind',
      broken: 'debt > 0 as is_behind',
      title: 'credits that have expired can’t be reserved',
    },
  ]),
  ...guards('ledger/transfer.ts', 'ledger/lots.test.ts', [
    {
      text: 'case when has_refund and lots_due_at > clock_now()',
      broken: 'case when false and lots_due_at > clock_now()',
      title: 'grace is given once',
    },
  ]),
  ...guards('ledger/debts.ts', 'ledger/lots.test.ts', [
    {
      text: 'if (wanted.credits > left) {',
      broken: 'if (wanted.credits < 0) {',
      title: 'a clawback takes no more than the payment gave',
    },
    {
      text: 'if (isDeepStrictEqual(found, [same])) return true;',
      broken: 'return true;',
      title: 'a repeated clawback is booked once',
    },
  ]),
  ...guards('ledger/ledger.ts', 'ledger/ledger.test.ts', [
    {
      text: 'const reference = `settle:${name}`;',
      broken: 'const reference = `${outcome}:${name}`;',
      title: 'when a capture and a refund run at the same time, exactly one is booked',
    },
    {
      text: 'if (!found || isDeepStrictEqual(found, wanted)) return found !== undefined;',
      broken: 'return found !== undefined;',
      title: 'a reference is refused with another account',
    },
  ]),
  ...guards('tasks/create/key-cap.ts', 'tasks/create/key-cap.test.ts', [
    {
      text: 'if (cap === null || used + credits <= cap) {',
      broken: 'if (cap === null || used <= cap) {',
      title: 'parallel creates of several processes never exceed a cap',
    },
  ]),
  ...guards('billing/settle-order.ts', 'billing/settle-order.test.ts', [
    {
      text: 'where id = :id and revision = :revision',
      broken: 'where id = :id and (revision = :revision or true)',
      title: 'what was read before another process settled the order is read again',
    },
    {
      text: 'if (asked?.price === order.price && asked.currency === order.currency) return truth;',
      broken: 'return truth;',
      title: 'another amount than that of the order is not booked',
    },
  ]),
];

const TASKS = [
  ...guards('tasks/transitions.ts', 'tasks/transitions.test.ts', [
    {
      text: `tasks.phase = given."from"
       and tasks.lease = given.lease
     returning`,
      broken: 'true returning',
      title: 'one of two moves of the same task succeeds',
    },
    {
      text: `
       and tasks.lease = given.lease
     returning`,
      broken: ' returning',
      title: 'a worker that lost the lease moves nothing',
    },
  ]),
  ...guards('tasks/create/idempotency-keys.ts', 'tasks/create/announce.test.ts', [
    {
      text: "and phase in ('reserved', 'ingesting', 'submitting', 'held')",
      broken: '',
      title: 'a task that failed before it was announced',
    },
  ]),
  ...guards('tasks/waiting.ts', 'tasks/response.test.ts', [
    {
      text: "if (task.phase !== 'held' || task.announced_at !== null) return task;",
      broken: 'return task;',
      title: 'uncertain acceptance is 503 with the credits held, and is announced first',
    },
  ]),
  ...guards('tasks/lease.ts', 'tasks/lease.test.ts', [
    {
      text: `and given.lease = tasks.lease
     where tasks.id = any($1) and tasks.leased_until`,
      broken: 'where tasks.id = any($1) and tasks.leased_until',
      title: 'a lease is renewed only by the worker that still has it',
    },
    {
      text: 'and tasks.id = given.id and tasks.lease = given.lease',
      broken: 'and tasks.id = given.id',
      title: 'a released task can be claimed at once',
    },
  ]),
  ...guards('worker/claim.ts', 'worker/claim.test.ts', [
    {
      text: 'where ${condition} and tasks.due_at <= ${NOW} and ${FREE}',
      broken: 'where ${condition} and tasks.due_at <= ${NOW}',
      title: 'workers that claim at once get different tasks',
    },
    {
      text: 'for update of tasks skip locked',
      broken: 'for update of tasks',
      title: 'a claim passes over tasks that another claim has locked',
    },
  ]),
];

const ATTEMPTS = [
  ...guards('attempts/attempts.ts', 'worker/submit.test.ts', [
    {
      text: "and tasks.phase = 'submitting' and tasks.lease = given.lease",
      broken: "and tasks.phase = 'submitting'",
      title: 'a worker that lost its lease records no attempt',
    },
  ]),
  ...guards('worker/submit.ts', 'worker/submit.test.ts', [
    {
      text: 'if (inFlight) return findJobOf(deps, task, inFlight);',
      broken: '',
      title: 'the provider is asked for the job of an attempt in flight',
    },
    {
      text: `  const mayStillSend = untilSeconds(deps, SEND_WITHIN_SECONDS);
  const attempt = await insertAttempt(deps.db, task, provider.identity);`,
      broken: `  const attempt = await insertAttempt(deps.db, task, provider.identity);
  const mayStillSend = untilSeconds(deps, SEND_WITHIN_SECONDS);`,
      title: 'the time to send begins before the attempt is on record',
    },
    {
      text: 'ends.every(',
      broken: 'ends.some(',
      title: 'nothing is sent after the machine was suspended',
    },
  ]),
  ...guards('attempts/find-job.ts', 'attempts/find-job.test.ts', [
    {
      text: 'const isAskedWhereSent = attempt.provider_identity === identity;',
      broken: 'const isAskedWhereSent = true;',
      title: 'strong absence counts only at the identity that the attempt was sent with',
    },
    {
      text: 'attempt.seconds_past_send_before > overSeconds && observedSeconds > overSeconds',
      broken: 'attempt.seconds_past_send_before > overSeconds',
      title: 'strong absence counts only at the identity that the attempt was sent with',
    },
    {
      text: 'if (taken.has(named.job_id)) continue;',
      broken: '',
      title: 'a callback does not adopt a confirmed orphan job',
    },
    {
      text: 'if (await isNamedForOtherAttempt(db, attempt, jobId)) return false;',
      broken: '',
      title: 'a job that a callback named for another attempt is not adopted by likeness',
    },
  ]),
];

const NETWORK = [
  ...guards('outbound/addresses.ts', 'outbound/addresses.test.ts', [
    {
      text: 'if (!allowed && isKnownPrivate(url, hosts)) throw notPublic();',
      broken: '',
      title: 'a host on the allow list passes on its own port only',
    },
    {
      text: 'if (!addresses.every(',
      broken: 'if (!addresses.some(',
      title: 'a host with one address that is not public is refused',
    },
  ]),
  ...guards('outbound/addresses.ts', 'outbound/deny-list.test.ts', [
    {
      text: '(embedded !== undefined && deny.check(`${embedded}`))',
      broken: 'false',
      title: 'a denied network is not public, in the URL and behind a name',
    },
  ]),
  ...guards('outbound/download.ts', 'outbound/guarded-fetch.test.ts', [
    {
      text: 'const url = checkUrl(target, rules, options);',
      broken: 'const url = checkUrl(start, rules, options) && new URL(target);',
      title: 'each redirect is checked like the first URL',
    },
    {
      text: 'url.origin === origin ? (options.headers ?? {}) : {};',
      broken: 'options.headers ?? {};',
      title: 'the caller’s headers are sent to the first origin only',
    },
  ]),
];

const SIGNATURES = [
  ...guards('storage/links.ts', 'storage/links.test.ts', [
    {
      text: '.some((secret) => equal(signature, sign(secret, objectId, expires)));',
      broken: '.some(() => true);',
      title: 'a link with any changed character is rejected',
    },
  ]),
  ...guards('storage/links.ts', 'http/callbacks.test.ts', [
    {
      text: 'equal(token, sign(secret, `callback ${attemptId}`, provider))',
      broken: 'secret',
      title: 'a callback URL that the service did not sign gets 404',
    },
  ]),
  ...guards('site/billing/stripe-webhook.ts', 'site/billing/stripe-webhook.test.ts', [
    {
      text: 'stripe.webhooks.constructEvent(bytes, signature, webhookSecret, MAX_AGE_SECONDS)',
      broken: 'JSON.parse(String(bytes))',
      title: 'what Stripe did not sign',
    },
  ]),
];

const PEOPLE = [
  ...guards('sign-in/sessions.ts', 'site/guard.test.ts', [
    {
      text: 's.expires_at > clock_now() and a.disabled_at is null',
      broken: 's.expires_at > clock_now()',
      title: 'a session ends with the account',
    },
    {
      text: 'where s.token_hash = $1 and s.expires_at > clock_now()',
      broken: 'where s.token_hash = $1',
      title: 'a session ends with the account',
    },
  ]),
  ...guards('sign-in/proofs.ts', 'site/auth/proof.test.ts', [
    {
      text: 'if (hasFreshProof) return;',
      broken: 'return;',
      title: 'without a fresh proof a session gets no passkey',
    },
  ]),
  ...guards('sign-in/check-passkey.ts', 'site/auth/passkeys.test.ts', [
    {
      text: 'and session_id is not distinct from $3 and expires_at > clock_now()',
      broken: 'and $3::text is not distinct from $3',
      title: 'a challenge of ours, in time',
    },
  ]),
  ...guards('site/guard.ts', 'site/guard.test.ts', [
    {
      text: 'if (isOwn) return;',
      broken: 'return;',
      title: 'what changes something must come from a page of ours',
    },
  ]),
];

const RATES = [
  ...guards('accounts/rate-window.ts', 'accounts/rate-window.test.ts', [
    {
      text: 'where cardinality(w.hits) < ${max}\n',
      broken: 'where true or cardinality(w.hits) < ${max}\n',
      title: 'of many requests at once exactly as many pass as the window takes',
    },
  ]),
  ...guards('accounts/rate-window.ts', 'accounts/key-gate.test.ts', [
    {
      text: 'if (now() < entry.until && now() < entry.checkAt)',
      broken: 'if (now() < entry.until)',
      title: 'a limited key asks the database once a second',
    },
  ]),
];

/** Grouped by what they guard. A new guard gets its row beside its test. */
export const GUARDS = [
  ...CREDITS,
  ...TASKS,
  ...ATTEMPTS,
  ...NETWORK,
  ...SIGNATURES,
  ...PEOPLE,
  ...RATES,
];
