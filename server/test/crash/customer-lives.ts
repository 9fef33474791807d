import assert from 'node:assert/strict';
import { createKey, hashSecret } from '../../src/accounts/api-keys.ts';
import { audit } from '../../src/operator/audit.ts';
import { createEndpoint } from '../../src/webhooks/endpoints.ts';
import { type ApiResponse, client, send } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import { assertOneVideo, assertTidyObjects, tasksOfKey } from '../service/end-state.ts';
import { sql } from '../task-fixtures.ts';
import { until } from '../until.ts';
import { type CrashFixture, untilPhase, VIDEO_CREDITS } from './crash-fixture.ts';
import type { Story } from './rounds.ts';

const TEST_CREDITS = 100_000;

/** A new account with an endpoint for webhooks, and a key that is first used when points count. */
class Customer {
  readonly key = `crash-${crypto.randomUUID()}`;
  readonly fixture: CrashFixture;
  accountId = '';
  secret = '';
  /** An earlier key, for what is made before. */
  earlier = '';

  static async open(fixture: CrashFixture, mode: 'live' | 'test'): Promise<Customer> {
    const { db } = fixture.database;
    const { accountId } = await makeCustomer(db, VIDEO_CREDITS);
    const events = ['task.completed', 'task.failed', 'task.held'] as const;
    const choice = { url: fixture.receiver.url, description: null, events: [...events] };
    await createEndpoint(db, { accountId, mode, by: 'a test' }, choice);
    const { secret } = await createKey(db, { accountId, mode });
    const { secret: earlier } = await createKey(db, { accountId, mode });
    return Object.assign(new Customer(fixture), { accountId, secret, earlier });
  }

  private constructor(fixture: CrashFixture) {
    this.fixture = fixture;
  }

  /** What the statement that admits the first request of the key has in its values. */
  get mark(): string {
    return [...hashSecret(this.secret)].join(',');
  }

  send(url: string, method: string, path: string, init: RequestInit = {}): Promise<ApiResponse> {
    const headers = { authorization: `Bearer ${this.secret}`, ...init.headers };
    return send(`${url}/api/v1${path}`, { ...init, method, headers });
  }

  create(url: string, secret: string, changes: object): Promise<ApiResponse> {
    const { image_url: _, ...text } = this.fixture.body as { image_url?: string };
    const body = { ...text, mode: 'text-to-video', ...changes };
    return client(url, secret).create(body, this.key);
  }

  tasks() {
    return tasksOfKey(this.fixture.database.db, this.key);
  }

  /** The one task of the customer in this phase, once it is there. */
  async taskIn(phase: string): Promise<string> {
    return (await untilPhase(this.fixture.database.db, this.key, phase)).id;
  }

  /** Whether its task is in one of these phases, and all events of it have been delivered. */
  async isTask(...phases: string[]): Promise<boolean> {
    return phases.includes((await this.tasks())[0]?.phase ?? '') && this.isTold();
  }

  /** Whether each end or hold of a task has been delivered, exactly as often as it happened. */
  async isTold(): Promise<boolean> {
    const rows = await sql<{ is_told: boolean }>(
      this.fixture.database.db,
      `select (select count(*) from task_history h
           where h.task_id = t.id and h.phase in ('completed', 'failed', 'held'))
         = (select count(*) from webhook_deliveries d
           where d.task_id = t.id and d.state = 'delivered') as is_told
       from tasks t where t.idempotency_key = $1`,
      [this.key],
    );
    return rows.every(({ is_told: isTold }) => isTold);
  }

  /** Asserts the balances, that each event has arrived under one id, and that the audit is clean. */
  async assertBooks(expected: { paid: number; test: number | null }): Promise<void> {
    const { database, receiver } = this.fixture;
    await until(() => this.isTold());
    const text = 'select event_id from webhook_deliveries where task_id = any($1)';
    const ids = (await this.tasks()).map(({ id }) => id);
    const events = await sql<{ event_id: string }>(database.db, text, [ids]);
    const arrived = new Set(receiver.received.map(({ id }) => id));
    assert.ok(events.every(({ event_id: id }) => arrived.has(id)));
    const rows = await sql<{ kind: string; available: number; reserved: number }>(
      database.db,
      `select kind, available::int, reserved::int from ledger_balances
       where account_id = $1 and kind <> 'promotional'`,
      [this.accountId],
    );
    const found = Object.fromEntries(rows.map(({ kind, ...sums }) => [kind, sums]));
    assert.deepEqual(found.paid, { available: expected.paid, reserved: 0 });
    if (expected.test !== null)
      assert.deepEqual(found.test, { available: expected.test, reserved: 0 });
    assert.deepEqual(await audit(database.db), { ok: true, problems: [] });
  }
}

/** The one task of a cancel: before its submit, or when the provider works on it. */
async function cancel(fixture: CrashFixture, phase: 'ingesting' | 'generating'): Promise<Story> {
  const isEarly = phase === 'ingesting';
  const customer = await Customer.open(fixture, isEarly ? 'live' : 'test');
  const { db } = fixture.database;
  const image_url = fixture.host.serve('/stalled.png', { kind: 'stall' });
  let id = '';
  const story: Story = {
    mark: customer.mark,
    async prepare(url) {
      const changes = isEarly
        ? { mode: 'image-to-video', image_url }
        : { prompt: 'A door, test-slow' };
      const created = customer.create(url, customer.earlier, changes);
      if (isEarly)
        created.catch(() => {}); // it waits for the acceptance
      else await created;
      id = await customer.taskIn(phase);
    },
    act: (url) => customer.send(url, 'POST', `/tasks/${id}/cancel`),
    isDone: () => customer.isTask('failed'),
    async check(url) {
      // The clock has passed the leases; a job that still works goes on for as long as before.
      const later = `clock_now() + interval '30 seconds'`;
      await sql(db, `update local_jobs set ends_at = ${later} where ends_at is not null`);
      const { status, body } = await until(
        () => story.act(url),
        (response) => response.status !== 503 && response.body.cancel !== 'pending',
      );
      assert.deepEqual([status, body.cancel], [200, 'cancelled'], JSON.stringify(body));
      const { error, credits_refunded: refunded } = body.task;
      assert.deepEqual([error.code, refunded], ['cancelled', VIDEO_CREDITS]);
      await customer.assertBooks({ paid: VIDEO_CREDITS, test: isEarly ? null : TEST_CREDITS });
      if (isEarly) await assertTidyObjects(db, fixture.stored);
    },
  };
  return story;
}

async function deleteOutput(fixture: CrashFixture): Promise<Story> {
  const customer = await Customer.open(fixture, 'test');
  const { db } = fixture.database;
  let id = '';
  let link = '';
  const OBJECTS = `select from stored_objects
    where owner_id = $1 and role = 'output' and state <> 'deleted'`;
  const story: Story = {
    mark: customer.mark,
    async prepare(url) {
      await customer.create(url, customer.earlier, {});
      id = await customer.taskIn('completed');
      const { body } = await client(url, customer.earlier).task(id);
      link = body.output.video_url;
    },
    act: (url) => customer.send(url, 'DELETE', `/tasks/${id}/output`),
    isDone: async () => (await sql(db, OBJECTS, [id])).length === 0,
    async check(url) {
      const { status, body } = await story.act(url);
      assert.equal(status, 204, JSON.stringify(body));
      const { pathname, search } = new URL(link);
      assert.equal((await fetch(url + pathname + search)).status, 410);
      await assertTidyObjects(db, fixture.stored);
      await customer.assertBooks({ paid: VIDEO_CREDITS, test: TEST_CREDITS - VIDEO_CREDITS });
    },
  };
  return story;
}

/** @param completed how many videos a request with this word makes */
async function heldTask(fixture: CrashFixture, word: string, completed: 0 | 1): Promise<Story> {
  const customer = await Customer.open(fixture, 'test');
  const story: Story = {
    mark: customer.mark,
    async act(url) {
      const response = await customer.create(url, customer.secret, { prompt: `A door, ${word}` });
      // From now on it can be known whether the job was accepted.
      if (response.body.error?.details?.credits === 'held') await fixture.expireLeases();
      return response;
    },
    isDone: () => customer.isTask('completed', 'failed'),
    async check(url) {
      const { status, body } = await until(
        () => story.act(url),
        ({ status: now, body: { error } }) => now !== 503 || error.details?.credits === 'refunded',
      );
      assert.ok(status < 429 || status === 503, JSON.stringify(body));
      const tasks = await until(
        () => customer.tasks(),
        (all) => all.every(({ phase }) => ['completed', 'failed'].includes(phase)),
      );
      assert.equal(tasks.filter(({ phase }) => phase === 'completed').length, completed);
      const test = TEST_CREDITS - completed * VIDEO_CREDITS;
      await customer.assertBooks({ paid: VIDEO_CREDITS, test });
    },
  };
  return story;
}

async function refill(fixture: CrashFixture): Promise<Story> {
  const customer = await Customer.open(fixture, 'test');
  const { db } = fixture.database;
  const BOOKED = `select credits::int from ledger_transfers
    where account_id = $1 and reference like 'adjust:%'`;
  const booked = () => sql(db, BOOKED, [customer.accountId]);
  const story: Story = {
    mark: customer.mark,
    async prepare(url) {
      await customer.create(url, customer.earlier, {});
      await customer.taskIn('completed');
    },
    act: (url) => customer.send(url, 'POST', '/test-credits'),
    isDone: async () => (await booked()).length > 0,
    async check(url) {
      const { status, body } = await story.act(url);
      assert.deepEqual([status, body.available_credits], [200, TEST_CREDITS]);
      assert.deepEqual(await booked(), [{ credits: VIDEO_CREDITS }]);
      await customer.assertBooks({ paid: VIDEO_CREDITS, test: TEST_CREDITS });
    },
  };
  return story;
}

/** Sends JSON or a picture. @returns what was created */
async function post(customer: Customer, url: string, path: string, body: string | Picture) {
  const type = typeof body === 'string' ? 'application/json' : 'image/png';
  const init = { headers: { 'content-type': type }, body };
  const created = await customer.send(url, 'POST', path, init);
  assert.equal(created.status, 201, JSON.stringify(created.body));
  return created.body;
}

type Picture = Uint8Array<ArrayBuffer>;

/** @returns the file as media fields name it */
async function uploadTo(customer: Customer, url: string, bytes: Picture) {
  return `upload:${(await post(customer, url, '/uploads', bytes)).id}`;
}

/** Sends the file to the bucket; the service may be dead meanwhile. */
async function putInto(customer: Customer, url: string, bytes: Picture) {
  const file = JSON.stringify({ content_type: 'image/png', size_bytes: bytes.length });
  const { upload, id } = await post(customer, url, '/uploads/presigned', file);
  const headers = { 'content-type': 'image/png' };
  const put = await fetch(upload.url, { method: 'PUT', headers, body: bytes });
  assert.equal(put.status, 200);
  return `upload:${id}`;
}

async function uploadAndCreate(fixture: CrashFixture, store: typeof uploadTo): Promise<Story> {
  const customer = await Customer.open(fixture, 'live');
  const { db } = fixture.database;
  const picture = new Uint8Array(fixture.picture.bytes);
  let upload: string | undefined;
  const story: Story = {
    mark: customer.mark,
    async act(url) {
      upload ??= await store(customer, url, picture);
      const media = { mode: 'image-to-video', image_url: upload };
      return customer.create(url, customer.secret, media);
    },
    isDone: () => customer.isTask('completed'),
    async check(url) {
      const { status, body } = await until(
        () => story.act(url),
        (response) => response.status !== 503,
      );
      assert.ok(status === 200 || status === 202, JSON.stringify(body));
      await customer.taskIn('completed');
      await assertOneVideo(db, customer.key, body.id);
      await customer.assertBooks({ paid: 0, test: null });
      // What a killed process was storing is removed after a day.
      const earlier = `created_at - interval '2 days'`;
      await sql(db, `update stored_objects set created_at = ${earlier} where state = 'writing'`);
      await assertTidyObjects(db, fixture.stored);
    },
  };
  return story;
}

/** What customers do beside buying a video, and how many points it has at least. */
export const CUSTOMER_LIVES: {
  title: string;
  leastPoints: number;
  hasBucket?: boolean;
  open(fixture: CrashFixture): Promise<Story>;
}[] = [
  {
    title: 'a cancel before the submit refunds once, and its event arrives',
    leastPoints: 15,
    open: (fixture) => cancel(fixture, 'ingesting'),
  },
  {
    title: 'a cancel that the provider confirms refunds once, and its event arrives',
    leastPoints: 20,
    open: (fixture) => cancel(fixture, 'generating'),
  },
  { title: 'a deleted video is gone and stays paid', leastPoints: 8, open: deleteOutput },
  {
    title: 'a held task of a test key that was accepted becomes one video',
    leastPoints: 40,
    open: (fixture) => heldTask(fixture, 'test-held-accepted', 1),
  },
  {
    title: 'a held task of a test key that was refused is refunded once',
    leastPoints: 30,
    open: (fixture) => heldTask(fixture, 'test-held-refused', 0),
  },
  { title: 'a refill of test credits is booked once', leastPoints: 6, open: refill },
  {
    title: 'an upload that a create uses has its bytes, and makes one video',
    leastPoints: 50,
    open: (fixture) => uploadAndCreate(fixture, uploadTo),
  },
  {
    title: 'a file sent to the bucket by a link that a create uses makes one video',
    leastPoints: 40,
    hasBucket: true,
    open: (fixture) => uploadAndCreate(fixture, putInto),
  },
];
