import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { type CallbackRules, sendCallbacks } from '../kit/callbacks.ts';
import type { SimulatedResponse } from '../kit/exchange.ts';
import { type Fault, PASSING_FAULTS, quirk, SUBMIT_FAULTS } from '../kit/faults.ts';
import { call, guarded, type Jobs, openJobs } from '../kit/jobs.ts';
import type { SimulatorOptions } from '../kit/options.ts';
import type { SimulatedCall, SimulatedRequest, Simulation } from '../kit/simulation.ts';
import { isListed } from '../kit/stage.ts';
import { invalidField, problem, refuse } from './errors.ts';
import { InputSchema, outputSpecOf, parseJob, type ReplicateJob, wordOf } from './job.ts';
import { predictionOf } from './prediction.ts';
import { secretKey, signedDelivery } from './webhook.ts';

const MODEL = '(bytedance/seedance-2.0(?:-fast)?)';
/** Predictions created with this token are shown without their webhook URLs. */
export const TOKEN_WITHOUT_WEBHOOKS = 'without-webhooks';

const CANCELED = new Set(['canceled', 'aborted']);
const PAGE_SIZE = 100;
const CALLBACK_RULES: CallbackRules = { timeoutSeconds: 10, retries: 4, retrySeconds: 0.2 };

const CreateSchema = Type.Object({
  input: Type.Object({}, { additionalProperties: true }),
  webhook: Type.Optional(Type.String()),
  webhook_events_filter: Type.Optional(
    Type.Array(Type.Enum(['start', 'output', 'logs', 'completed'])),
  ),
});

type Replicate = Jobs<ReplicateJob>;

/** Replicate's predictions of official models and its webhooks (docs: HTTP API, webhooks). */
export function simulateReplicate(options: SimulatorOptions): Simulation<ReplicateJob> {
  const replicate = openJobs(options, parseJob);
  const { record } = replicate;
  for (const job of record.all()) void report(replicate, job);
  const refusals: Fault[] = [
    { kind: 'refuse', status: 429 },
    { kind: 'refuse', status: 429, retryAfterSeconds: 1 },
    { kind: 'refuse', status: 500 },
  ];
  return {
    record,
    parse: parseJob,
    refuse,
    calls: callsOf(replicate),
    drawn: {
      submit: [...SUBMIT_FAULTS, ...refusals],
      read: PASSING_FAULTS,
      find: PASSING_FAULTS,
    },
  };
}

function callsOf(replicate: Replicate): SimulatedCall[] {
  const calls = [
    call('submit', 'POST', `/v1/models/${MODEL}/predictions`, (asked) => create(replicate, asked)),
    call('find', 'GET', '/v1/predictions', (asked) => list(replicate, asked)),
    call('read', 'GET', '/v1/predictions/([^/]+)', (asked) => read(replicate, asked)),
    call('cancel', 'POST', '/v1/predictions/([^/]+)/cancel', (asked) => cancel(replicate, asked)),
    call('keys', 'GET', '/v1/webhooks/default/secret', () => {
      return { status: 200, json: { key: secretKey() } };
    }),
  ];
  const unauthorized = () => problem(401, 'You did not pass a valid authentication token');
  return [
    ...guarded(calls, /^Bearer \S+$/, unauthorized),
    replicate.outputCall(outputSpecOf, notFound),
  ];
}

async function create(replicate: Replicate, request: SimulatedRequest): Promise<SimulatedResponse> {
  const asked: unknown = JSON.parse(request.body.toString());
  if (!Value.Check(CreateSchema, asked)) return invalidField('webhook', 'is not valid');
  if (!Value.Check(InputSchema, asked.input)) {
    const [error] = Value.Errors(InputSchema, asked.input);
    const field = `input${(error?.instancePath ?? '').replaceAll('/', '.')}`;
    return invalidField(field, error?.message ?? 'is not valid');
  }
  const job: ReplicateJob = {
    id: randomBytes(13).toString('hex'),
    prompt: asked.input.prompt,
    callbackUrl: asked.webhook ?? null,
    createdAt: Date.now(),
    forcedStatus: null,
    quirks: request.quirks,
    model: request.groups[0] ?? '',
    input: asked.input,
    events: asked.webhook_events_filter ?? ['start', 'output', 'logs', 'completed'],
    deadlineAt: Date.now() + secondsIn(request.headers['cancel-after']) * 1000,
    baseUrl: `http://${request.headers.host}`,
    showsWebhook: request.headers.authorization !== `Bearer ${TOKEN_WITHOUT_WEBHOOKS}`,
  };
  replicate.record.put(job);
  if (quirk(job, 'callback_early')) await sendFirst(replicate, job);
  void report(replicate, job);
  return { status: 201, json: shown(replicate, job) };
}

/** Parses `30s`, `1m`, `2h`. Without the header a prediction may run for 30 minutes. */
function secondsIn(header: string | string[] | undefined): number {
  const [, number, unit = ''] = /^(\d+)([smh])$/.exec(String(header ?? '30m')) ?? [];
  const seconds: Record<string, number> = { s: 1, m: 60, h: 3600 };
  return Number(number) * (seconds[unit] ?? Number.NaN);
}

function list(
  { options, record }: Replicate,
  { url, headers }: SimulatedRequest,
): SimulatedResponse {
  const query = url.searchParams;
  const after = Date.parse(query.get('created_after') ?? '') || 0;
  const before = Date.parse(query.get('created_before') ?? '') || Number.POSITIVE_INFINITY;
  const first = Number(query.get('cursor') ?? 0);
  const jobs = record
    .all()
    .filter((job) => isListed(job) && job.createdAt >= after && job.createdAt < before)
    .sort((a, b) => b.createdAt - a.createdAt);
  const page = jobs.slice(first, first + PAGE_SIZE);
  const results = page.map((job) => predictionOf(job, options, ''));
  query.set('cursor', String(first + PAGE_SIZE));
  const nextUrl = `http://${headers.host}/v1/predictions?${query}`;
  const next = first + PAGE_SIZE < jobs.length ? nextUrl : null;
  return { status: 200, json: { previous: null, next, results } };
}

function notFound(): SimulatedResponse {
  return problem(404, 'The requested resource could not be found.');
}

function read(replicate: Replicate, request: SimulatedRequest): SimulatedResponse {
  const job = replicate.known(request);
  return job ? { status: 200, json: shown(replicate, job) } : notFound();
}

function cancel(replicate: Replicate, request: SimulatedRequest): SimulatedResponse {
  const job = replicate.known(request);
  if (!job) return notFound();
  const word = wordOf(job, replicate.options.jobSeconds);
  const end = { starting: 'aborted', processing: 'canceled' }[word];
  if (end) {
    replicate.record.put({ ...job, forcedStatus: end });
    void reportEnd(replicate, job.id);
  }
  return read(replicate, request);
}

function shown(replicate: Replicate, job: ReplicateJob, word?: string) {
  return predictionOf(job, replicate.options, job.baseUrl + replicate.pathTo(job), word);
}

/** Sends a webhook at the start and one at the end, also of a job that ended before a restart. */
async function report(replicate: Replicate, job: ReplicateJob): Promise<void> {
  const { jobSeconds } = replicate.options;
  if (job.isReported || quirk(job, 'vanishes')) return;
  const startsAt = job.createdAt + (jobSeconds / 3) * 1000;
  const endsAt = job.createdAt + jobSeconds * 1000;
  if (!quirk(job, 'callback_reordered') && Date.now() <= endsAt) {
    await reach(startsAt);
    const isCanceled = CANCELED.has(replicate.record.get(job.id)?.forcedStatus ?? '');
    if (!isCanceled) await send(replicate, job, ['processing']);
  }
  await reach(endsAt);
  await reportEnd(replicate, job.id);
}

async function reach(time: number): Promise<void> {
  await delay(Math.max(0, time - Date.now()), undefined, { ref: false });
}

async function reportEnd({ record, ...rest }: Replicate, id: string): Promise<void> {
  const { jobSeconds } = rest.options;
  const current = record.get(id);
  if (!current || wordOf(current, jobSeconds) === 'processing') return;
  await record.reportOnce(id, (job) => {
    const word = wordOf(job, jobSeconds);
    const words = quirk(job, 'callback_reordered') ? ['processing', word] : [word];
    return send({ record, ...rest }, job, words);
  });
}

function sendFirst(replicate: Replicate, job: ReplicateJob): Promise<void> {
  return send(replicate, job, ['starting']);
}

/** Sends the webhooks of the given statuses: event `start` before the end, else `completed`. */
async function send(replicate: Replicate, job: ReplicateJob, words: string[]): Promise<void> {
  const { callbackUrl: url, events, id } = job;
  const eventOf = (word: string) => (/^(starting|processing)$/.test(word) ? 'start' : 'completed');
  const wanted = words.filter((word) => events.includes(eventOf(word)));
  if (url === null || wanted.length === 0) return;
  const deliveries = wanted.map((word) => signedDelivery(id, shown(replicate, job, word)));
  const forged = signedDelivery(id, { ...shown(replicate, job), id: 'forged' }, { forged: true });
  await sendCallbacks({ url, deliveries, forged }, job.quirks, CALLBACK_RULES);
}
