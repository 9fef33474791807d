import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { statement } from '../../src/database/database.ts';
import { METRICS, type MetricName, metric } from '../../src/http/operations/metric-list.ts';
import { client, SMALLEST, send } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import { createTestDatabase } from '../database.ts';
import { openTestFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';
import { tasksOfKey } from './end-state.ts';
import { openOtlpReceiver, type ReceivedSpan } from './otlp-receiver.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';

const CREDITS = 60;
const RECORDED = '0af7651916cd43dd8448eb211c80319c';
const NOT_RECORDED = '1af7651916cd43dd8448eb211c80319c';
const CLIENT_SPAN = 'b7ad6b7169203331';

/** A log line of the service. */
interface Line {
  msg: string;
  task?: string;
  request?: string;
  trace_id?: string;
}

// An API and a worker, each a process of its own: the trace joins them through the database.

const database = await createTestDatabase();
const folder = await openTestFolder();
const receiver = await openOtlpReceiver();
const env = {
  DATABASE_URL: database.url,
  DATA_DIR: folder.path,
  OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
};
const { secret } = await makeCustomer(database.db, 2 * CREDITS);
const api = await startServiceProcess({ ...env, ROLES: 'api', CREATE_WAIT_SECONDS: '0' });
const worker = await startServiceProcess({ ...env, ROLES: 'worker', PUBLIC_URL: api.url });
after(async () => {
  await Promise.all([api, worker].map((service) => service.kill('SIGKILL')));
  await database.close();
  await receiver[Symbol.asyncDispose]();
});

async function create(traceId: string, flags: string) {
  const created = await send(`${api.url}/api/v1/video/generations`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${secret}`,
      'content-type': 'application/json',
      'idempotency-key': traceId,
      traceparent: `00-${traceId}-${CLIENT_SPAN}-${flags}`,
    },
    body: JSON.stringify(SMALLEST),
  });
  assert.equal(created.status, 202);
  await until(
    () => tasksOfKey(database.db, traceId),
    ([task]) => task?.phase === 'completed',
  );
  const task = await client(api.url, secret).task(created.body.id);
  const video = await fetch(task.body.output.video_url);
  assert.equal((await video.arrayBuffer()).byteLength > 1000, true);
  return { id: String(created.body.id), request: created.headers.get('x-request-id') ?? '' };
}

function linesOf(service: ServiceProcess): Line[] {
  const lines = service.output().split('\n');
  return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
}

async function metricsOf(service: ServiceProcess): Promise<Map<string, number>> {
  const text = await (await fetch(service.metricsUrl)).text();
  const lines = text.split('\n').filter((line) => line.startsWith('framewright_'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
  );
}

let recorded: { id: string; request: string };
let notRecorded: { id: string; request: string };

test('a create, its work and its delivery are counted where they happen', async () => {
  recorded = await create(RECORDED, '01');
  notRecorded = await create(NOT_RECORDED, '00');
  const [ofApi, ofWorker] = await Promise.all([metricsOf(api), metricsOf(worker)]);
  const least = (shown: Map<string, number>, series: string, value: number) =>
    assert.ok((shown.get(series) ?? 0) >= value, `${series} is ${shown.get(series)}`);
  least(ofApi, 'framewright_moved_credits_total{movement="reserve"}', 2 * CREDITS);
  least(ofApi, 'framewright_batch_items_count{batch="admit_create"}', 2);
  least(ofApi, 'framewright_storage_seconds_count{operation="open",outcome="done"}', 2);
  least(ofApi, 'framewright_database_seconds_count{part="wait"}', 4);
  least(ofWorker, 'framewright_task_seconds_count{outcome="completed"}', 2);
  least(ofWorker, 'framewright_moved_credits_total{movement="capture"}', 2 * CREDITS);
  least(ofWorker, 'framewright_step_seconds_count{phase="archiving",result="moved"}', 2);
  least(ofWorker, 'framewright_phase_seconds_count{phase="generating"}', 2);
  least(ofWorker, 'framewright_claimed_tasks_total{pool="submit"}', 2);
  least(ofWorker, 'framewright_pool_places{pool="archive"}', 1);
  least(ofWorker, 'framewright_storage_seconds_count{operation="put",outcome="done"}', 2);
  least(ofWorker, 'framewright_decode_seconds_count{kind="video",outcome="measured"}', 2);
  least(ofWorker, 'framewright_periodic_runs_total{work="sweep",result="done"}', 1);
  least(ofWorker, 'framewright_live_workers{provider="local"}', 1);
  assert.equal(ofWorker.get('framewright_pool_tasks{pool="archive"}'), 0);
});

test('no label has a value that clients or ids decide', async () => {
  const values = new Set<string>();
  for (const series of [...(await metricsOf(api)).keys(), ...(await metricsOf(worker)).keys()]) {
    const [name = ''] = series.split('{');
    const found = name in METRICS ? name : name.replace(/_(bucket|sum|count)$/, '');
    const { labels } = metric(found as MetricName);
    for (const [, label = '', value = ''] of series.matchAll(/(\w+)="([^"]*)"/g)) {
      assert.ok(label === 'le' || labels.includes(label), series);
      values.add(value);
    }
  }
  for (const value of values) assert.doesNotMatch(value, /task_|acct_|key_0|obj_|[0-9A-Za-z]{20}/);
});

function childOf(spans: ReceivedSpan[], name: string, parent?: ReceivedSpan): ReceivedSpan {
  const named = spans.filter((span) => span.name === name);
  const found = named.find(({ parentSpanId }) => !parent || parentSpanId === parent.spanId);
  assert.ok(found, `no span "${name}" below "${parent?.name}" in ${spans.map((s) => s.name)}`);
  return found;
}

test('one trace follows a task from its POST to its delivery, across processes', async () => {
  assert.deepEqual(await Promise.all([api, worker].map((one) => one.kill('SIGTERM'))), [0, 0]);
  const spans = receiver.spans().filter(({ traceId }) => traceId === RECORDED);
  const post = childOf(spans, 'POST /api/v1/video/generations');
  assert.deepEqual([post.parentSpanId, post.kind], [CLIENT_SPAN, 2]);
  childOf(spans, 'create the task', post);
  childOf(spans, 'wait for the acceptance', post);
  childOf(spans, 'wait for a worker', post);
  childOf(spans, 'step reserved', post);
  const submit = childOf(spans, 'local submit', childOf(spans, 'step submitting', post));
  assert.equal(submit.kind, 3);
  childOf(spans, 'local read', childOf(spans, 'step generating', post));
  const archive = childOf(spans, 'step archiving', post);
  for (const name of ['local open_output', 'decode video', 'storage put']) {
    childOf(spans, name, archive);
  }
  const [link] = childOf(spans, 'deliver', post).links ?? [];
  const download = receiver.spans().find(({ spanId }) => spanId === link?.spanId);
  assert.equal(download?.name, 'GET /media/:file');
  assert.ok(spans.length < 25, `${spans.length} spans: ${spans.map((span) => span.name)}`);
});

test('a client that does not record its trace gets no spans, but its task keeps the trace', async () => {
  const unrecorded = receiver.spans().filter(({ traceId }) => traceId === NOT_RECORDED);
  assert.deepEqual(unrecorded, []);
  const sql = statement('test_traceparent', 'select traceparent from tasks where id = $1');
  const [row] = await database.db.query<{ traceparent: string }>(sql, [notRecorded.id]);
  assert.match(row?.traceparent ?? '', new RegExp(`^00-${NOT_RECORDED}-[0-9a-f]{16}-00$`));
});

test('the log joins the request, the task and the trace', () => {
  for (const [{ id, request }, trace_id] of [
    [recorded, RECORDED],
    [notRecorded, NOT_RECORDED],
  ] as const) {
    const created = linesOf(api).find((line) => line.request === request);
    assert.equal(created?.msg, 'created a task');
    assert.deepEqual([created?.task, created?.trace_id], [id, trace_id]);
    const lines = linesOf(worker).filter(({ task }) => task === id);
    assert.ok(lines.length >= 4, 'at least one line per move');
    for (const line of lines) assert.equal(line.trace_id, trace_id, line.msg);
  }
});

test('spans contain no texts of the client, no API key and no signed link', () => {
  assert.doesNotMatch(receiver.text(), /unmistakable|fw_live_|signature=|expires=|postgres/);
});
