import { randomUUID } from 'node:crypto';
import { type CallbackRules, createReporter } from '../kit/callbacks.ts';
import type { SimulatedResponse } from '../kit/exchange.ts';
import type { Fault } from '../kit/faults.ts';
import { call, guarded, type Jobs, openJobs } from '../kit/jobs.ts';
import type { SimulatorOptions } from '../kit/options.ts';
import type { SimulatedCall, SimulatedRequest, Simulation } from '../kit/simulation.ts';
import { failedResult, notFound, refuse, unauthorized } from './errors.ts';
import { historyPage } from './history.ts';
import { endingOf, type FalJob, outputSpecOf, parseJob, wordOf } from './job.ts';
import { jwks, signedDelivery } from './webhook.ts';

const ENDPOINT = '((?:bytedance/seedance-2.0)(?:/fast|/mini)?/(?:text|image|reference)-to-video)';
const REQUEST = '/bytedance/seedance-2.0/requests/([^/]+)';

/** fal waits 15 s for a response and retries 10 times in two hours, the simulator in seconds. */
const CALLBACK_RULES: CallbackRules = { timeoutSeconds: 15, retries: 10, retrySeconds: 0.2 };

interface Fal extends Jobs<FalJob> {
  reporter: ReturnType<typeof createReporter<FalJob>>;
}

/** fal's queue, request history and webhooks (docs: queue, webhooks, platform APIs). */
export function simulateFal(options: SimulatorOptions): Simulation<FalJob> {
  const jobs = openJobs(options, parseJob);
  // A request has one callback, at its end.
  const reporter = createReporter(jobs.record, options.jobSeconds, {
    rules: CALLBACK_RULES,
    ends: new Set(['COMPLETED']),
    wordOf: (job) => wordOf(job, options.jobSeconds),
    deliveryOf: (job, word) => (word === 'COMPLETED' ? deliveryOf(jobs, job) : undefined),
    forgedOf: ({ id }) => {
      const ids = { request_id: randomUUID(), gateway_request_id: id };
      return signedDelivery(ids, { forged: true });
    },
  });
  return { ...jobs, calls: callsOf({ ...jobs, reporter }), refuse };
}

function callsOf(fal: Fal): SimulatedCall[] {
  const { record, options } = fal;
  const calls = [
    call('submit', 'POST', `/${ENDPOINT}`, (request) => submit(fal, request)),
    call('read', 'GET', `${REQUEST}/status`, (request) => status(fal, request)),
    call('result', 'GET', REQUEST, (request) => result(fal, request)),
    call('cancel', 'PUT', `${REQUEST}/cancel`, (request) => cancel(fal, request)),
    call('find', 'GET', '/v1/models/requests/by-endpoint', ({ url }) =>
      historyPage(record.all(), url.searchParams, options.jobSeconds),
    ),
  ];
  return [
    ...guarded(calls, /^Key \S+$/, unauthorized),
    call('keys', 'GET', '/.well-known/jwks.json', () => ({ status: 200, json: jwks() })),
    fal.outputCall(outputSpecOf, notFound),
  ];
}

async function submit(fal: Fal, request: SimulatedRequest): Promise<SimulatedResponse> {
  const { url, body, groups } = request;
  const input: unknown = JSON.parse(body.toString());
  const job = parseJob({
    ...fal.common(request),
    id: randomUUID(),
    prompt: String(Object(input).prompt ?? ''),
    callbackUrl: url.searchParams.get('fal_webhook'),
    endpoint: groups[0],
    input,
  });
  fal.record.put(job);
  await fal.reporter.begin(job, 'COMPLETED');
  return { status: 200, json: queued(job) };
}

function queued(job: FalJob) {
  const at = `${job.origin}/bytedance/seedance-2.0/requests/${job.id}`;
  return {
    status: 'IN_QUEUE',
    request_id: job.id,
    gateway_request_id: job.id,
    response_url: at,
    status_url: `${at}/status`,
    cancel_url: `${at}/cancel`,
    queue_position: 0,
    logs: null,
    metrics: {},
  };
}

function status(fal: Fal, request: SimulatedRequest): SimulatedResponse {
  const job = fal.known(request);
  if (!job) return notFound();
  const word = wordOf(job, fal.options.jobSeconds);
  const { request_id, response_url, status_url, cancel_url } = queued(job);
  const common = { status: word, request_id, response_url, status_url, cancel_url };
  if (word !== 'COMPLETED') return { status: 202, json: { ...common, queue_position: 0 } };
  const ending = endingOf(job);
  const error = ending.kind === 'ok' ? {} : { error: ending.text, error_type: ending.code };
  return { status: 200, json: { ...common, ...error, metrics: { inference_time: 1 } } };
}

function result(fal: Fal, request: SimulatedRequest): SimulatedResponse {
  const job = fal.known(request);
  if (!job) return notFound();
  if (wordOf(job, fal.options.jobSeconds) !== 'COMPLETED') {
    return refuse({ kind: 'refuse', status: 400, message: 'Request is still in progress' });
  }
  const ending = endingOf(job);
  return ending.kind === 'ok' ? { status: 200, json: payload(fal, job) } : failedResult(ending);
}

function payload(fal: Jobs<FalJob>, job: FalJob) {
  const url = fal.linkTo(job);
  const file = { content_type: 'video/mp4', file_name: `${job.id}.mp4`, file_size: 1 };
  return { video: { url, ...file }, seed: 42 };
}

function cancel(fal: Fal, request: SimulatedRequest): SimulatedResponse {
  const job = fal.known(request);
  if (!job) return { status: 404, json: { status: 'NOT_FOUND' } };
  if (wordOf(job, fal.options.jobSeconds) === 'COMPLETED') {
    return { status: 400, json: { status: 'ALREADY_COMPLETED' } };
  }
  const cancelled: Fault = { kind: 'fails', code: 'client_cancelled', message: 'cancelled' };
  fal.record.put({ ...job, forcedStatus: 'COMPLETED', quirks: [...job.quirks, cancelled] });
  return { status: 202, json: { status: 'CANCELLATION_REQUESTED' } };
}

function deliveryOf(fal: Jobs<FalJob>, job: FalJob) {
  const ending = endingOf(job);
  const ids = { request_id: job.id, gateway_request_id: job.id };
  if (ending.kind === 'ok') {
    return signedDelivery({ ...ids, status: 'OK', payload: payload(fal, job) });
  }
  const { json } = failedResult(ending);
  return signedDelivery({ ...ids, status: 'ERROR', error: ending.text, payload: json });
}
