import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, type ParsedResponse, type TestCustomer } from '../../../test/app.ts';
import { assertError } from '../../../test/envelope.ts';
import { createKey } from '../../accounts/api-keys.ts';

/** A request that is not sent yet, and the account that sends it. Faults change it. */
interface Draft {
  account: 'rich' | 'poor';
  isLimited: boolean;
  isAuthorized: boolean;
  contentType: string;
  key: 'fresh' | 'known' | 'malformed';
  body: Record<string, unknown>;
  isBroken: boolean;
  isTooLarge: boolean;
}

interface Fault {
  name: string;
  change: Partial<Draft> | ((draft: Draft) => void);
  code: string;
  details?: Record<string, unknown>;
}

const inField = (name: string, body: object, reason: string): Fault => {
  const change = (draft: Draft) => Object.assign(draft.body, body);
  return {
    name,
    change,
    code: 'invalid_request',
    details: { field: Object.keys(body)[0], reason },
  };
};
const refused = (name: string, change: Partial<Draft>, field: string, reason: string): Fault => {
  return { name, change, code: 'invalid_request', details: { field, reason } };
};

/** The possible faults of a create, in the order of the checks (C7). */
const FAULTS: Fault[] = [
  { name: 'a bad API key', change: { isAuthorized: false }, code: 'unauthorized' },
  { name: 'a full rate window', change: { isLimited: true }, code: 'rate_limited' },
  { name: 'a body that is too large', change: { isTooLarge: true }, code: 'payload_too_large' },
  refused('another content type', { contentType: 'text/plain' }, 'Content-Type', 'not_json'),
  refused('broken JSON', { isBroken: true }, 'body', 'not_json'),
  refused('a malformed Idempotency-Key', { key: 'malformed' }, 'Idempotency-Key', 'malformed'),
  {
    name: 'the key of another body',
    change: (draft) => {
      if (draft.key === 'fresh') draft.key = 'known';
    },
    code: 'idempotency_conflict',
  },
  inField('an invalid field', { duration: 3 }, 'too_small'),
  inField(
    'a field that the mode does not accept',
    { image_url: 'https://media.example/a.png' },
    'not_accepted_in_mode',
  ),
  inField('a resolution without a price', { resolution: '4k' }, 'not_offered'),
  {
    name: 'no credits',
    change: { account: 'poor' },
    code: 'insufficient_credits',
    details: { required_credits: 250 },
  },
];

const KNOWN_KEY = 'known';

/** A customer with a task under the known Idempotency-Key, and an API key whose window is full. */
interface UsedAccount {
  customer: TestCustomer;
  limitedSecret: string;
}

const api = await openTestApp();
const accounts = { rich: await useAccount(100_000), poor: await useAccount(250) };

async function useAccount(credits: number): Promise<UsedAccount> {
  const customer = await api.customer(credits);
  const { secret } = await createKey(api.database.db, { accountId: customer.accountId });
  await api.database.setClock(3600); // the window stays full for an hour
  for (let count = 0; count < 30; count += 1) {
    const headers = { authorization: `Bearer ${secret}` };
    assert.equal((await customer.send({ url: '/api/v1/credits', headers })).status, 200);
  }
  await api.database.setClock(0);
  const body = { prompt: 'the body that the key belongs to' }; // costs 250
  assert.equal((await customer.create(body, { 'idempotency-key': KNOWN_KEY })).status, 202);
  return { customer, limitedSecret: secret };
}

function sendWith(faults: Fault[]): Promise<ParsedResponse> {
  const draft: Draft = {
    account: 'rich',
    key: 'fresh',
    contentType: 'application/json',
    isLimited: false,
    isAuthorized: true,
    isBroken: false,
    isTooLarge: false,
    body: { prompt: 'a lighthouse at dawn' },
  };
  for (const { change } of faults) {
    if (typeof change === 'function') change(draft);
    else Object.assign(draft, change);
  }
  const { customer, limitedSecret } = accounts[draft.account];
  const keys = { fresh: crypto.randomUUID(), known: KNOWN_KEY, malformed: 'not a key' };
  const text = JSON.stringify(draft.body) + (draft.isBroken ? ']' : '');
  const secret = draft.isLimited ? limitedSecret : undefined;
  return customer.create(text + (draft.isTooLarge ? ' '.repeat(64 * 1024) : ''), {
    'content-type': draft.contentType,
    'idempotency-key': keys[draft.key],
    ...(secret && { authorization: `Bearer ${secret}` }),
    ...(draft.isAuthorized ? {} : { authorization: 'Bearer junk' }),
  });
}

test('each fault is reported: nothing was charged, and which key may send the same again', async () => {
  const retries: Record<string, string> = {
    unauthorized: 'same_key',
    rate_limited: 'same_key',
    payload_too_large: 'never',
    invalid_request: 'never',
    idempotency_conflict: 'new_key',
    insufficient_credits: 'same_key',
  };
  for (const fault of FAULTS) {
    const response = await sendWith([fault]);
    assertError(response, fault.code, fault.details);
    const { charged, retry } = response.body.error.details;
    assert.deepEqual([charged, retry], ['no', retries[fault.code]], fault.name);
  }
});

test('of any two faults, the one that is checked first is reported', async () => {
  for (const [index, first] of FAULTS.entries()) {
    for (const second of FAULTS.slice(index + 1)) {
      for (const pair of [
        [first, second],
        [second, first],
      ]) {
        const response = await sendWith(pair);
        const reported = response.body.error?.details?.field ?? response.body.error?.code;
        assert.equal(reported, first.details?.field ?? first.code, `${first.name}, ${second.name}`);
        assertError(response, first.code, first.details);
      }
    }
  }
});

test('a refused request does not bind its Idempotency-Key: another body can use the key', async () => {
  const { customer } = accounts.rich;
  const headers = { 'idempotency-key': crypto.randomUUID() };
  const junk = { ...headers, authorization: 'Bearer junk' };
  assertError(await customer.create({ prompt: 'first' }, junk), 'unauthorized');
  const limited = { ...headers, authorization: `Bearer ${accounts.rich.limitedSecret}` };
  assertError(await customer.create({ prompt: 'second' }, limited), 'rate_limited');
  const large = `{"prompt":"third"}${' '.repeat(64 * 1024)}`;
  assertError(await customer.create(large, headers), 'payload_too_large');
  assertError(await customer.create('{"prompt":', headers), 'invalid_request');
  assertError(await customer.create({ prompt: 'no' }, headers), 'invalid_request');
  const dear = { prompt: 'too dear', model: 'video-2.0', resolution: '4k', duration: 15 };
  const poor = accounts.poor.customer;
  assertError(await poor.create(dear, headers), 'insufficient_credits');
  assertError(await poor.create({ ...dear, duration: 14 }, headers), 'insufficient_credits');
  assert.equal((await customer.create({ prompt: 'at last' }, headers)).status, 202);
});

/** Has no credits: a valid request gets 402, and no task is ever created. */
const poor = await api.customer(0);

const IMAGE = 'https://media.example/a.png';
const VIDEO = 'https://media.example/a.mp4';
const MODES = ['text-to-video', 'image-to-video', 'media-to-video'];

test('the details of a 400 have the reason, the limit and the index in a list', async () => {
  const mode = 'media-to-video';
  const videos = 'reference_video_urls';
  const pictures = 'reference_image_urls';
  const seconds = 'reference_video_durations';
  const timed = (durations: number[]) => ({ mode, [videos]: [VIDEO], [seconds]: durations });
  const cases: [body: object, field: string, reason: string, more?: object][] = [
    [{ duration: 3 }, 'duration', 'too_small', { limit: 4 }],
    [{ duration: 16 }, 'duration', 'too_large', { limit: 15 }],
    [{ duration: '5' }, 'duration', 'wrong_type'],
    [{ seed: null }, 'seed', 'wrong_type'],
    [{ mode: 'x' }, 'mode', 'not_one_of', { allowedValues: MODES }],
    [{ mode: 'image-to-video', image_url: 'a b' }, 'image_url', 'malformed'],
    [{ mode, [pictures]: Array(9).fill(IMAGE) }, pictures, 'too_many', { limit: 8 }],
    [{ mode, [pictures]: [IMAGE, 'http://a.example/'] }, pictures, 'not_https', { entry: 1 }],
    [{ mode, [videos]: [VIDEO, 7] }, videos, 'wrong_type', { entry: 1 }],
    [timed([]), seconds, 'too_few', { limit: 1 }],
    [timed([16]), seconds, 'too_large', { entry: 0, limit: 15 }],
  ];
  for (const [body, field, reason, more] of cases) {
    const response = await poor.create({ prompt: 'abc', ...body });
    assertError(response, 'invalid_request', { field, reason, ...more });
  }
});
