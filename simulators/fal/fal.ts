import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type CallbackRules, sendCallbacks } from '../kit/callbacks.ts';
import type { SimulatedResponse } from '../kit/exchange.ts';
import { type Fault, PASSING_FAULTS, quirk, SUBMIT_FAULTS } from '../kit/faults.ts';
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

type Fal = Jobs<FalJob>;

/** fal's queue, request history and webhooks (docs: queue, webhooks, platform APIs). */
export function simulateFal(options: SimulatorOptions): Simulation<FalJob> {
  const fal = openJobs(options, parseJob);
  const { record } = fal;
  for (const job of record.all()) void reportEnd(fal, job);
  const refusals: Fault[] = [
    { kind: 'refuse', status: 429 },
    { kind: 'refuse', status: 429, retryAfterSeconds: 1 },
    { kind: 'refuse', status: 503 },
  ];
  return {
    record,
    parse: parseJob,
    refuse,
    calls: callsOf(fal),
    drawn: {
      submit: [...SUBMIT_FAULTS, ...refusals],
      read: PASSING_FAULTS,
      result: PASSING_FAULTS,
      find: PASSING_FAULTS,
    },
  };
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
  const { url, headers, body, quirks, groups } = request;
  const input: unknown = JSON.parse(body.toString());
  const job = parseJob({
    id: randomUUID(),
    prompt: typeof input === 'object' && input && 'prompt' in input ? String(input.prompt) : '',
    callbackUrl: url.searchParams.get('fal_webhook'),
    createdAt: Date.now(),
    forcedStatus: null,
    quirks,
    endpoint: groups[0],
    input,
    baseUrl: `http://${headers.host}`,
  });
  fal.record.put(job);
  if (quirk(job, 'callback_early')) await report(fal, job);
  else void reportEnd(fal, job);
  return { status: 200, json: queued(job) };
}

function queued(job: FalJob) {
  const at = `${job.baseUrl}/bytedance/seedance-2.0/requests/${job.id}`;
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

function payload(fal: Fal, job: FalJob) {
  const url = job.baseUrl + fal.pathTo(job);
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
  void report(fal, job);
  return { status: 202, json: { status: 'CANCELLATION_REQUESTED' } };
}

/**
 * Sends a request's one callback at its end, or after a restart if it ended before. With
 * `--job-seconds 0` a request ends at its submit, and no callback is sent.
 */
async function reportEnd(fal: Fal, job: FalJob): Promise<void> {
  const { jobSeconds } = fal.options;
  if (jobSeconds === 0 || quirk(job, 'vanishes')) return;
  if (wordOf(job, jobSeconds) !== 'COMPLETED') {
    if (quirk(job, 'never_ends')) return;
    const leftMs = job.createdAt + jobSeconds * 1000 - Date.now();
    await delay(Math.max(0, leftMs), undefined, { ref: false });
  }
  await report(fal, job);
}

function report(fal: Fal, { id }: FalJob): Promise<void> {
  return fal.record.reportOnce(id, (job) => send(fal, job));
}

async function send(fal: Fal, job: FalJob): Promise<void> {
  if (job.callbackUrl === null) return;
  const ending = endingOf(job);
  const ids = { request_id: job.id, gateway_request_id: job.id };
  const body =
    ending.kind === 'ok'
      ? { ...ids, status: 'OK', payload: payload(fal, job) }
      : { ...ids, status: 'ERROR', error: ending.text, payload: failedResult(ending).json };
  const forged = signedDelivery({ ...ids, request_id: randomUUID() }, { forged: true });
  const deliveries = [signedDelivery(body)];
  await sendCallbacks({ url: job.callbackUrl, deliveries, forged }, job.quirks, CALLBACK_RULES);
}
