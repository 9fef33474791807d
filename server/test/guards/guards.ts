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

/** `broken` replaces the text; if omitted, the text is removed. */
type Row = [title: string, text: string, broken?: string];

/** The guards of a file that one test file watches; both from `server/src`. */
function guards(file: string, test: string, ...rows: Row[]): Guard[] {
  const paths = { file: `server/src/${file}.ts`, test: `server/src/${test}.test.ts` };
  return rows.map(([title, text, broken = '']) => ({ ...paths, title, text, broken }));
}

/** Grouped by what they guard. A new guard gets its row beside its test. */
export const GUARDS = [
  // Models and prices
  guards('catalog/price', 'catalog/price', [
    'a price applies from its date on',
    'findLast(({ from }) => from <= at)',
    'findLast(() => true)',
  ]),
  guards('catalog/request', 'http/public/added-models', [
    'a retired model is refused like an unknown',
    " && model.state !== 'retired'",
  ]),
  guards('catalog/model-schema', 'http/public/added-models', [
    'a hidden model can be named, and no list',
    'allowedValues: offeredNames(catalog)',
    'allowedValues',
  ]),
  guards('catalog/set-model', 'catalog/set-model', [
    'a changed price is added, at least five',
    ' >= Number(at) + NOTICE_SECONDS * 1000',
    ' > 0',
  ]),
  guards('catalog/models-file', 'catalog/models-file', [
    'processes share one file',
    'await hasOther(tx, digest)',
    'false',
  ]),
  guards('operator/audit', 'operator/audit', [
    'the audit finds each damage',
    'if (credits === expected) continue;',
    'continue;',
  ]),
  // Credits
  guards('ledger/reserve', 'ledger/lots', [
    'credits that have expired can’t be reserved',
    'or coalesce(lots_due_at <= clock_now(), false)',
  ]),
  guards('ledger/transfer', 'ledger/lots', [
    'grace is given once',
    'case when has_refund',
    'case when false',
  ]),
  guards(
    'ledger/debts',
    'ledger/lots',
    ['a clawback takes no more than the payment gave', 'if (credits > left)', 'if (false)'],
    ['a repeated clawback is booked once', 'isDeepStrictEqual(found, [same])', 'found'],
  ),
  guards(
    'ledger/ledger',
    'ledger/ledger',
    ['when a capture and a refund run at the', '`settle:${name}`', '`${outcome}:${name}`'],
    ['a reference is refused with another account', 'isDeepStrictEqual(found, wanted)', 'found'],
  ),
  guards('tasks/create/key-cap', 'tasks/create/key-cap', [
    'parallel creates of several processes',
    'used + credits <= cap',
    'used <= cap',
  ]),
  guards(
    'billing/settle-order',
    'billing/settle-order',
    [
      'what was read before another process',
      'and revision = :revision',
      'and (revision = :revision or true)',
    ],
    ['another amount than that of the order', 'priceAtStripe?.price === order.price', 'true'],
  ),
  // Tasks
  guards(
    'tasks/transitions',
    'tasks/transitions',
    [
      'one of two moves of the same task succeeds',
      'tasks.phase = given."from"\n       and tasks.lease = given.lease',
      'true',
    ],
    ['a worker that lost the lease moves nothing', 'and tasks.lease = given.lease'],
  ),
  guards('tasks/create/idempotency-keys', 'tasks/create/create', [
    'a task that failed before it',
    "and phase in ('reserved', 'ingesting', 'submitting', 'review', 'held')",
  ]),
  guards('tasks/waiting', 'tasks/waiting', [
    'uncertain acceptance is 503 with the credits held, and is announced first',
    "if ((task.phase !== 'held' && task.phase !== 'review') || task.announced_at !== null)",
  ]),
  guards(
    'tasks/lease',
    'tasks/lease',
    ['a lease is renewed only by the worker that still has it', ' and given.lease = tasks.lease'],
    ['a released task can be claimed at once', ' and tasks.lease = given.lease'],
  ),
  guards(
    'worker/claim',
    'worker/claim',
    [
      'workers that claim at once get different tasks',
      '${condition} and tasks.due_at <= ${NOW} and ${UNLEASED}',
      '${condition} and tasks.due_at <= ${NOW}',
    ],
    ['a claim passes over tasks that another', 'for update of tasks skip locked', 'for update'],
  ),
  // Attempts
  guards('attempts/attempts', 'worker/submit', [
    'a worker that lost its lease records no attempt',
    ' and tasks.lease = given.lease',
  ]),
  guards(
    'attempts/retry-failed',
    'worker/retry-failed',
    ['a failure is final unless', " || attempt.outcome_by !== 'sender'"],
    ['a failure is final unless', ' and outcome_holds = 0'],
    ['a cancel beats the second try', 'await lockState(tx, task.id);'],
  ),
  guards(
    'worker/submit',
    'worker/submit',
    [
      'the provider is asked for the job of an',
      'if (inFlight) return findJobOf(deps, task, inFlight);',
    ],
    [
      'the time to send begins before the attempt is on record',
      'submit(jobSpec, mayStillSend)',
      'submit(jobSpec, untilSeconds(deps, SEND_WITHIN_SECONDS))',
    ],
    ['nothing is sent after the machine was suspended', 'ends.every(', 'ends.some('],
  ),
  guards(
    'attempts/find-job',
    'attempts/find-job',
    ['strong absence counts only at the', 'attempt.provider_identity === identity', 'true'],
    ['strong absence counts only at the identity', ' && observedSeconds > overSeconds'],
    ['a callback does not adopt ', 'if (taken.has(named.job_id)) continue;'],
    [
      'a job that a callback named for another',
      'await isNamedForOtherAttempt(db, attempt.id, connections, jobId)',
      'false',
    ],
  ),
  // Network
  guards(
    'outbound/addresses',
    'outbound/addresses',
    ['a host on the allow list passes on its', '!allowed && isKnownPrivate(url, hosts)', 'false'],
    ['a host with one address that is not public', '!addresses.every(', '!addresses.some('],
    ['a denied network is not public', ' || (embedded !== undefined && deny.check(`${embedded}`))'],
  ),
  guards(
    'outbound/download',
    'outbound/guarded-fetch',
    [
      'each redirect is checked like the first URL',
      'checkUrl(target, rules, options)',
      'checkUrl(start, rules, options) && new URL(target)',
    ],
    ['the caller’s headers are sent to the first origin', 'url.origin === origin ?', 'true ?'],
  ),
  // Signatures
  guards('storage/links', 'storage/links', [
    'a link with any changed',
    'equal(signature, sign(secret, subject, scope))',
    'secret',
  ]),
  guards('storage/links', 'http/callbacks', [
    'a callback URL that the service did not sign gets 404',
    'equal(signature, sign(secret, subject, scope))',
    'secret',
  ]),
  guards('site/billing/stripe-webhook', 'site/billing/stripe-webhook', [
    'what Stripe did not sign',
    'stripe.webhooks.constructEvent(bytes, signature, webhookSecret, MAX_AGE_SECONDS)',
    'JSON.parse(String(bytes))',
  ]),
  // People
  guards(
    'sign-in/sessions',
    'site/guard',
    ['a session ends with the account', 'and a.disabled_at is null'],
    ['a session ends with the account', ' and s.expires_at > clock_now() and', ' and'],
  ),
  guards('sign-in/proofs', 'site/auth/proof', [
    'without a fresh proof a session gets no passkey',
    'if (hasFreshProof)',
  ]),
  guards('sign-in/check-passkey', 'site/auth/proof', [
    'a challenge of ours, in time',
    '$3 and expires_at > clock_now()',
    '$3',
  ]),
  guards('site/guard', '../test/website/access', [
    'no route that changes something takes a request of another site',
    'if (isOwn)',
  ]),
  // Rates
  guards('accounts/rate-window', 'accounts/rates', [
    'of many requests at once exactly as many pass',
    'where cardinality(w.hits)',
    'where true or 0',
  ]),
  guards('accounts/rate-window', 'accounts/rates', [
    'a limited key asks the database once a second',
    ' && now() < entry.checkAt',
  ]),
].flat();
