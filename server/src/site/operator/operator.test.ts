import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { assertError } from '../../../test/envelope.ts';
import { makeHeldTask, makeTask, recordAccepted, sql } from '../../../test/task-fixtures.ts';
import { until } from '../../../test/until.ts';
import { openTestWebsite, type TestVisitor } from '../../../test/website/website.ts';
import { parseCommandLine } from '../../cli/command-line.ts';
import { listActions } from '../../operator/actions.ts';
import type { Verb } from '../../operator/verb/verb.ts';
import { NOUNS } from '../../operator/verbs/list.ts';
import type { OperatorDeps } from './operator-route.ts';
import { OPERATOR_ROUTES } from './operator-routes.ts';

const API = '/console/api/operator';
const reason = 'ticket 91';

const website = await openTestWebsite({ providers: new Set(['local']) });
const { db } = website.database;
const operator = await website.signIn({ isOperator: true });
const fixture = { db, deps: { ...website.deps, createWaitSeconds: 20 } };

/** The path of a verb. */
function pathOf(verb: string): string {
  return `${API}/verbs/${verb.replaceAll(' ', '/')}`;
}

async function changed(visitor: TestVisitor, verb: string, given: object = {}) {
  const response = await visitor.write(pathOf(verb), { reason, ...given });
  assert.equal(response.status, 200, JSON.stringify(response.body));
  return response.body;
}

/** What was recorded about a target, the newest first: command, actor and reason. */
async function recorded(target: string) {
  const actions = await listActions(db, { target, limit: 10 });
  return actions.map(({ command, actor, reason: why }) => [command, actor, why]);
}

/** Every route, as it is registered. */
function routes(): { method: 'GET' | 'POST'; url: string }[] {
  const found: { method: 'GET' | 'POST'; url: string }[] = [];
  const scope = { route: (route: (typeof found)[number]) => found.push(route) };
  for (const route of OPERATOR_ROUTES) {
    route.serve(scope as unknown as FastifyInstance, {} as OperatorDeps);
  }
  return found;
}

test('no route exists for customers', async () => {
  const customer = await website.signIn({ credits: 10 });
  const all = routes();
  assert.equal(all.length, 15);
  for (const { method, url } of all) {
    assert.ok(url.startsWith(`${API}/`), url);
    const send = (visitor: TestVisitor) =>
      method === 'GET' ? visitor.get(url) : visitor.write(url, { reason });
    const refused = await send(customer);
    assertError(refused, 'not_found');
    const missing = await customer.get(`${API}/no/such/path/at/all`);
    assert.equal(refused.body.error.message, missing.body.error.message, url);
    // A 405 would tell that the path exists.
    assertError(await website.stranger.send({ method: 'PUT', url }), 'not_found');
  }
});

test('a held task is shown with its evidence, decided once, and the decision is recorded', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  const list = await operator.get(`${pathOf('tasks list')}?phase=held`);
  const shown = list.body.items.find(({ id }: { id: string }) => id === held.id);
  const account = (await operator.get(`${API}/accounts/${shown.account_id}`)).body;
  assert.deepEqual([shown.held_cause, shown.email], ['acceptance', account.email]);
  assert.match(shown.email, /@/);
  const task = (await operator.get(`${pathOf('tasks show')}?id=${held.id}`)).body;
  assert.equal(task.email, account.email);
  assert.equal(task.attempts[0].id, attempt.id);
  assert.notEqual(task.attempts[0].evidence.length, 0);
  assertError(
    await operator.write(pathOf('reconcile'), { reason, id: held.id, accepted: '../x' }),
    'invalid_request',
    { field: 'accepted', reason: 'refused' },
  );
  const decision = { id: held.id, failed: true };
  assert.equal((await changed(operator, 'reconcile', decision)).phase, 'failed');
  const again = await operator.write(pathOf('reconcile'), { reason, ...decision });
  assert.match(again.body.error.message, /^Task_.* is failed, not held/i);
  assert.deepEqual(await recorded(held.id), [['reconcile', operator.email, reason]]);
});

test('due tasks are listed, woken and cancelled', async () => {
  const { task } = await makeTask(fixture);
  const ofTask = async () => {
    const due = (await operator.get(`${pathOf('tasks list')}?due=yes`)).body.items;
    return due.find(({ id }: { id: string }) => id === task.id);
  };
  const { account_id: accountId, email } = await ofTask();
  assert.match(email, /@/);
  const erased = `update accounts set email = 'erased:' || id, erased_at = now() where id = $1`;
  await sql(db, erased, [accountId]);
  assert.equal((await ofTask()).email, null);
  await changed(operator, 'tasks cancel', { id: task.id });
  assert.deepEqual(await recorded(task.id), [['tasks cancel', operator.email, reason]]);
  assertError(
    await operator.write(pathOf('tasks wake'), { reason, id: 'task_x' }),
    'invalid_request',
  );
  for (const gone of [
    `${pathOf('tasks show')}?id=task_%00x`,
    `${API}/accounts/acc_x`,
    `${API}/accounts/acc_x/statement`,
    `${pathOf('orders show')}?id=x`,
  ]) {
    assertError(await operator.get(gone), 'not_found');
  }
  assertError(await operator.get(`${pathOf('tasks list')}?account=acc_x`), 'invalid_request');
});

test('providers and creates are paused and resumed', async () => {
  await changed(operator, 'providers pause', { provider: 'local' });
  await changed(operator, 'creates pause');
  const paused = (await operator.get(`${API}/providers`)).body;
  const local = paused.items.find((row: { provider: string }) => row.provider === 'local');
  assert.deepEqual([local.state, local.reason, paused.creates], ['paused', reason, 'paused']);
  type Row = { provider: string; is_configured: boolean; is_default: boolean };
  const named = (is: 'is_configured' | 'is_default') =>
    paused.items.filter((row: Row) => row[is]).map(({ provider }: Row) => provider);
  assert.deepEqual([named('is_configured'), named('is_default')], [['local'], ['local']]);
  assert.ok(paused.items.length > 1);
  assert.equal((await changed(operator, 'creates resume')).changed, true);
  assert.equal((await changed(operator, 'providers resume', { provider: 'local' })).changed, true);
  const commands = (await recorded('creates')).map(([command]) => command);
  assert.deepEqual(commands, ['creates resume', 'creates pause']);
});

test('an account is found, gets credits once per reference, is disabled and enabled', async () => {
  const customer = await website.signIn();
  const find = async (text: string) =>
    (await operator.get(`${pathOf('accounts list')}?find=${text}`)).body.items;
  const found = await find(customer.email.slice(0, 20));
  assert.deepEqual([found.length, found[0].account_id], [1, customer.accountId]);
  const at = `/accounts/${customer.accountId}`;
  const account = { account: customer.accountId };
  const movement = { ...account, kind: 'paid', credits: 500, reference: 'r1' };
  assert.equal((await changed(operator, 'credits grant', movement)).booked, true);
  assert.equal((await changed(operator, 'credits grant', movement)).booked, false);
  const adjustment = { ...movement, credits: -80 };
  assert.equal((await changed(operator, 'credits adjust', adjustment)).booked, true);
  const shown = (await operator.get(`${API}${at}`)).body;
  assert.deepEqual([shown.paid.available, shown.keys.length], [420, 1]);
  assert.deepEqual([shown.test.available, shown.endpoints, shown.subscription], [1e5, [], null]);
  assert.ok(!JSON.stringify(shown).includes('secret'));
  const statement = (await operator.get(`${API}${at}/statement`)).body;
  const reasons = statement.items.map((row: { reason: string }) => row.reason);
  assert.deepEqual(reasons, ['adjust', 'grant']);
  await changed(operator, 'credits grant', {
    ...movement,
    kind: 'promotional',
    credits: 7,
    reference: 'r2',
  });
  const [listing] = await find(customer.accountId);
  assert.deepEqual(listing.available, { paid: 420, promotional: 7 });
  const orders = await operator.get(`${pathOf('orders list')}?account=${customer.accountId}`);
  assert.deepEqual(orders.body, { items: [], next: null });
  await changed(operator, 'accounts disable', account);
  assertError(await customer.get('/console/api/me'), 'unauthorized');
  await changed(operator, 'accounts enable', account);
  // A session that was stolen before does not live again.
  assertError(await customer.get('/console/api/me'), 'unauthorized');
  assertError(
    await operator.write(pathOf('accounts erase'), { reason, ...account }),
    'invalid_request',
  );
  assert.deepEqual(
    (await recorded(customer.accountId)).map(([command]) => command),
    ['accounts enable', 'accounts disable', 'credits grant', 'credits adjust', 'credits grant'],
  );
  const listed = (await operator.get(`${pathOf('actions list')}?target=${customer.accountId}`))
    .body;
  assert.equal(listed.items.length, 5);
});

test('an audit runs in the background and shows its result', async () => {
  await changed(operator, 'audit');
  const [run] = await until(
    async () => (await operator.get(`${API}/audits`)).body.items,
    ([newest]) => newest?.ended_at !== null,
    20,
  );
  assert.deepEqual([run.actor, run.failure], [operator.email, null]);
});

test('costs are shown and downloaded by day, model, connection and account', async () => {
  const { task } = await makeTask(fixture);
  await recordAccepted(db, task.id);
  const update = `update tasks set phase = 'completed', due_at = null, output_object_id = 'obj_1',
      job_cost = 0.25, job_cost_currency = 'usd' where id = $1`;
  await sql(db, update, [task.id]);
  const { email } = (await operator.get(`${API}/accounts/${task.account_id}`)).body;
  const groups = {
    day: task.created_at.toISOString().slice(0, 10),
    model: task.request.model,
    connection: task.provider,
    account: task.account_id,
  };
  for (const [per, group] of Object.entries(groups)) {
    for (const days of [7, 30]) {
      const query = `per=${per}&days=${days}`;
      const [row] = (await operator.get(`${API}/costs?${query}`)).body.items;
      const shown = [row.group, row.tasks, row.cost, row.email];
      assert.deepEqual(shown, [group, 1, '0.25', per === 'account' ? email : null], query);
      const csv = await operator.get(`${API}/costs.csv?${query}`);
      assert.match(String(csv.headers['content-type']), /^text\/csv/);
      const lines = csv.body.split('\r\n');
      assert.match(lines[0], /^group,currency,tasks,.*,terms$/);
      assert.equal(lines[1], `${group},usd,1,5,250,0.25,1,0,,,`);
    }
  }
  for (const query of ['per=hour', 'days=8', 'days=']) {
    assertError(await operator.get(`${API}/costs?${query}`), 'invalid_request');
    assertError(await operator.get(`${API}/costs.csv?${query}`), 'invalid_request');
  }
});

test('each list is downloaded as CSV, with addresses', async () => {
  const email = (await website.signIn()).email;
  for (const [list, column] of [
    ['accounts list', 'email'],
    ['tasks list', 'email'],
    ['orders list', undefined],
    ['actions list', 'command'],
    ['reports list', undefined],
  ] as const) {
    const csv = await operator.get(`${pathOf(list)}?csv=yes`);
    assert.match(String(csv.headers['content-type']), /^text\/csv/, list);
    const [head = ''] = csv.body.split('\r\n');
    if (column) assert.ok(head.split(',').includes(column), `${list}: ${head}`);
    if (list === 'accounts list') assert.ok(csv.body.includes(`,${email},`), csv.body);
  }
});

test('every verb is a command and a route, or says why it has no route; a change needs a reason', async () => {
  // The tests before may have used up what an operator may send in a minute.
  await sql(db, 'delete from request_windows');
  const listed = (await operator.get(`${API}/verbs`)).body;
  const nouns = await Promise.all(Object.values(NOUNS).map((verbsOf) => verbsOf()));
  for (const [name, one] of nouns.flatMap((verbs) => Object.entries<Verb>(verbs))) {
    const positional = one.positional?.map(() => 'x') ?? [];
    const parsed = parseCommandLine([...name.split(' '), ...positional, '--no-such-option']);
    await assert.rejects(parsed, /Unknown option '--no-such-option'/, name);
    const isChange = one.reason !== undefined || one.isRecordedOnConsole === true;
    const { status, body } = isChange
      ? await operator.write(pathOf(name), { reason, unknown: 1 })
      : await operator.get(`${pathOf(name)}?unknown=1`);
    const route = one.notOnConsole === undefined ? 'unknown' : undefined;
    assert.equal(name in listed, route !== undefined, name);
    assert.equal(body.error.details?.field, route, name);
    assert.equal(status, route === undefined ? 404 : 400, name);
    if (!isChange || route === undefined) continue;
    for (const none of [{}, { reason: ' ' }, { reason: 'a\nb' }]) {
      assert.equal((await operator.write(pathOf(name), none)).status, 400, name);
    }
  }
});

test('whatever a customer quotes is found by exact match, with its owner and its page', async () => {
  const customer = await website.signIn({ credits: 1000 });
  const key = 'ord_4711:a-b';
  const made = (await customer.create({ prompt: 'A lighthouse', duration: 5 }, key)).body;
  const [task = ''] = [made.id];
  const { held, attempt } = await makeHeldTask(fixture);
  const order = 'ord_0VbgKjvYmaxrCkhwyKXQrLqI';
  const insert = `insert into offers (id, kind, name, credits, price, currency)
    values ('pack', 'pack', 'Pack', 1, 100, 'usd')`;
  await sql(db, insert);
  await sql(
    db,
    `insert into orders (id, account_id, kind, offer_id, credits, price, currency, stripe_mode,
       stripe_id, stripe_payment, dispute)
     values ($1, $2, 'pack', 'pack', 1, 100, 'usd', 'live', 'cs_1', 'pi_1', 'needs_response')`,
    [order, customer.accountId],
  );
  const event = `evt_${'0'.repeat(32)}`;
  await sql(
    db,
    `with endpoint as (
       insert into webhook_endpoints (id, account_id, events, secret)
       values ('we_quoted', $1, array['task.completed'], '') returning id)
     insert into webhook_deliveries (event_id, endpoint_id, type, task_id)
     select $2, id, 'task.completed', $3 from endpoint`,
    [customer.accountId, event, task],
  );
  const [{ request_id: request = '' } = {}] = await sql<{ request_id: string }>(
    db,
    'select request_id from tasks where id = $1',
    [task],
  );
  const found = async (text: string) => {
    const query = new URLSearchParams({ text });
    const { status, body } = await operator.get(`${pathOf('find')}?${query}`);
    assert.equal(status, 200, text);
    return body.found.map((row: Record<string, string>) => [row.what, row.email, row.page]);
  };
  const { email, accountId } = customer;
  const ofAccount = ['account', email, `/operator/accounts/${accountId}`];
  const ofOrder = ['order', email, `/operator/orders/${order}`];
  const holder = (await operator.get(`${pathOf('tasks show')}?id=${held.id}`)).body.email;
  const cases: [string, string[]?][] = [
    [accountId, ofAccount],
    [email.toUpperCase(), ofAccount],
    [task, ['task', email, `/operator/tasks/${task}`]],
    [key, ['Idempotency-Key', email, `/operator/tasks/${task}`]],
    [attempt.id, ['attempt', holder, `/operator/tasks/${held.id}`]],
    [order, ofOrder],
    ['we_quoted', ['webhook endpoint', email, ofAccount[2] ?? '']],
    [event, ['webhook event', email, `/operator/tasks/${task}`]],
    [request, ['request', email, `/operator/tasks/${task}`]],
    ['cs_1', ofOrder],
    ['pi_1', ofOrder],
    ['pi_'],
    ['%'],
    ["' or true --"],
    ['req_0VbgKjvYmaxrCkhwyKXQrLqI'],
    ['\ud800'],
  ];
  for (const [text, expected] of cases) {
    assert.deepEqual(await found(text), expected ? [expected] : [], text);
  }
  assertError(await operator.get(`${pathOf('find')}?text=${'x'.repeat(301)}`), 'invalid_request');
  assertError(await operator.get(pathOf('find')), 'invalid_request');
  assertError(await customer.get(`${pathOf('find')}?text=${task}`), 'not_found');
});

test('what needs a decision is counted, and gone once it is decided', async () => {
  const counts = async () => {
    const { items } = (await operator.get(`${API}/decisions`)).body;
    return new Map(items.map((one: Record<string, unknown>) => [one.what, [one.count, one.first]]));
  };
  const before = await counts();
  const { held } = await makeHeldTask(fixture);
  const [, first] = (before.get('held') as [number, string] | undefined) ?? [0, held.id];
  const { accountId, email } = await website.signIn();
  const insert = `insert into webhook_endpoints (id, account_id, url, events, secret, failing_since)
    select 'we_' || n, $1, 'https://x.example', '{}', 's', clock_now() - n * interval '30 minutes'
    from generate_series(1, 14) n`;
  await sql(db, insert, [accountId]);
  const add = `insert into routes (model, choice, steps)
    values ('video-2.0', 'order', '[{"connection": "gone"}]')`;
  await sql(db, add);
  await sql(
    db,
    `insert into reports (id, reason)
     values ('report_urgent', 'sexualized_minors'), ('report_other', 'copyright')`,
  );
  const after = await counts();
  assert.deepEqual([...after][0], ['urgent reports', [1, 'report_urgent']]);
  assert.deepEqual(after.get('reports'), [1, 'report_other']);
  const [heldBefore = 0] = (before.get('held') as [number] | undefined) ?? [];
  assert.deepEqual(after.get('held'), [heldBefore + 1, first]);
  const { items } = (await operator.get(`${API}/decisions`)).body;
  const failing = items.filter(({ what }: { what: string }) => what === 'webhooks');
  const endpoints = [14, 13, 12, 11, 10, 9, 8, 7, 6].map((n) => [1, `we_${n}`, accountId, email]);
  assert.deepEqual(
    failing.map((row: Record<string, unknown>) => [
      row.count,
      row.first,
      row.account_id,
      row.email,
    ]),
    [...endpoints, [4, 'we_5', accountId, email]],
  );
  assert.deepEqual(after.get('route'), [1, 'video-2.0']);
  assert.deepEqual(after.get('disputed'), [1, 'ord_0VbgKjvYmaxrCkhwyKXQrLqI']);
  await changed(operator, 'reconcile', { id: held.id, failed: true });
  assert.equal((await counts()).get('held')?.toString(), before.get('held')?.toString());
});
