import { randomBytes } from 'node:crypto';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { type CallbackRules, createReporter } from '../kit/callbacks.ts';
import type { SimulatedResponse } from '../kit/exchange.ts';
import { quirk } from '../kit/faults.ts';
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

const ENDS = new Set(['succeeded', 'failed', 'canceled', 'aborted']);
const PAGE_SIZE = 100;
const CALLBACK_RULES: CallbackRules = { timeoutSeconds: 10, retries: 4, retrySeconds: 0.2 };

const CreateSchema = Type.Object({
  input: Type.Object({}, { additionalProperties: true }),
  webhook: Type.Optional(Type.String()),
  webhook_events_filter: Type.Optional(
    Type.Array(Type.Enum(['start', 'output', 'logs', 'completed'])),
  ),
});

interface Replicate extends Jobs<ReplicateJob> {
  reporter: ReturnType<typeof createReporter<ReplicateJob>>;
}

/** Replicate's predictions of official models and its webhooks (docs: HTTP API, webhooks). */
export function simulateReplicate(options: SimulatorOptions): Simulation<ReplicateJob> {
  const jobs = openJobs(options, parseJob);
  const reporter = createReporter(jobs.record, options.jobSeconds, {
    rules: CALLBACK_RULES,
    ends: ENDS,
    wordOf: (job) => wordOf(job, options.jobSeconds),
    deliveryOf(job, word) {
      // A prediction has started when it is processed.
      if (word === 'starting' && !quirk(job, 'callback_early')) return undefined;
      const event = ENDS.has(word) ? 'completed' : 'start';
      const isWanted = job.events.includes(event);
      return isWanted ? signedDelivery(job.id, shown(jobs, job, word)) : undefined;
    },
    forgedOf: (job) =>
      signedDelivery(job.id, { ...shown(jobs, job), id: 'forged' }, { forged: true }),
  });
  return { ...jobs, calls: callsOf({ ...jobs, reporter }), refuse };
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
    ...replicate.common(request),
    id: randomBytes(13).toString('hex'),
    prompt: asked.input.prompt,
    callbackUrl: asked.webhook ?? null,
    model: request.groups[0] ?? '',
    input: asked.input,
    events: asked.webhook_events_filter ?? ['start', 'output', 'logs', 'completed'],
    deadlineAt: Date.now() + secondsIn(request.headers['cancel-after']) * 1000,
    showsWebhook: request.headers.authorization !== `Bearer ${TOKEN_WITHOUT_WEBHOOKS}`,
  };
  replicate.record.put(job);
  await replicate.reporter.begin(job, 'starting');
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
  const results = page.map((job) => predictionOf(job, options.jobSeconds, ''));
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
  if (end) replicate.record.put({ ...job, forcedStatus: end });
  return read(replicate, request);
}

function shown(replicate: Jobs<ReplicateJob>, job: ReplicateJob, word?: string) {
  return predictionOf(job, replicate.options.jobSeconds, replicate.linkTo(job), word);
}
