import { randomBytes } from 'node:crypto';
import { Value } from 'typebox/value';
import { type CallbackRules, createReporter } from '../kit/callbacks.ts';
import type { SimulatedResponse } from '../kit/exchange.ts';
import { call, guarded, type Jobs, openJobs } from '../kit/jobs.ts';
import type { SimulatorOptions } from '../kit/options.ts';
import type { SimulatedCall, SimulatedRequest, Simulation } from '../kit/simulation.ts';
import { problem, refuse } from './errors.ts';
import {
  errorText,
  type OpenRouterJob,
  outputSpecOf,
  parseJob,
  RequestSchema,
  refusalOf,
  wordOf,
} from './job.ts';
import { MODELS } from './models.ts';
import { signedDelivery } from './webhook.ts';

const VIDEOS = '/api/v1/videos';
const ENDS = new Set(['completed', 'failed', 'cancelled', 'expired']);

/** OpenRouter documents that deliveries are retried, but not how often. */
const CALLBACK_RULES: CallbackRules = { timeoutSeconds: 10, retries: 3, retrySeconds: 0.2 };

interface OpenRouter extends Jobs<OpenRouterJob> {
  reporter: ReturnType<typeof createReporter<OpenRouterJob>>;
}

/** OpenRouter's video API and its webhooks (docs: video generation, errors and debugging). */
export function simulateOpenRouter(options: SimulatorOptions): Simulation<OpenRouterJob> {
  const jobs = openJobs(options, parseJob);
  // A job has one webhook, at its end.
  const reporter = createReporter(jobs.record, options.jobSeconds, {
    rules: CALLBACK_RULES,
    ends: ENDS,
    wordOf: (job) => wordOf(job, options.jobSeconds),
    deliveryOf(job, word) {
      return ENDS.has(word) ? signedDelivery(shown(job, word)) : undefined;
    },
    forgedOf: (job) =>
      signedDelivery({ ...shown(job, 'completed'), id: 'forged' }, { forged: true }),
  });
  return { ...jobs, calls: callsOf({ ...jobs, reporter }), refuse };
}

function callsOf(openRouter: OpenRouter): SimulatedCall[] {
  const jobs = [
    call('submit', 'POST', VIDEOS, (request) => submit(openRouter, request)),
    call('read', 'GET', `${VIDEOS}/([^/]+)`, (request) => read(openRouter, request)),
    call('output', 'GET', `${VIDEOS}/([^/]+)/content`, (request) => content(openRouter, request)),
  ];
  const message = 'No cookie auth credentials found';
  // Everybody may read the list, and its path is not that of a job.
  const list = call('models', 'GET', `${VIDEOS}/models`, () => ({
    status: 200,
    json: { data: MODELS },
  }));
  return [list, ...guarded(jobs, /^Bearer \S+$/, () => problem(401, { message }))];
}

async function submit(
  openRouter: OpenRouter,
  request: SimulatedRequest,
): Promise<SimulatedResponse> {
  const asked: unknown = JSON.parse(request.body.toString());
  if (!Value.Check(RequestSchema, asked)) {
    const [error] = Value.Errors(RequestSchema, asked);
    return problem(400, {
      message: `${error?.instancePath ?? ''}: ${error?.message ?? 'invalid'}`,
    });
  }
  const refusal = refusalOf(asked);
  if (refusal !== undefined) return problem(400, { message: refusal });
  const job: OpenRouterJob = {
    ...openRouter.common(request),
    id: `gen-vid-${Math.floor(Date.now() / 1000)}-${randomBytes(10).toString('hex')}`,
    prompt: asked.prompt,
    callbackUrl: asked.callback_url ?? null,
    request: asked,
  };
  openRouter.record.put(job);
  await openRouter.reporter.begin(job, 'completed');
  const { id, polling_url } = shown(job, 'pending');
  return { status: 202, json: { id, polling_url, status: 'pending' } };
}

function read(openRouter: OpenRouter, request: SimulatedRequest): SimulatedResponse {
  const job = openRouter.known(request);
  if (!job) return notFound(request);
  return { status: 200, json: shown(job, wordOf(job, openRouter.options.jobSeconds)) };
}

/** The video's bytes. Once they are no longer kept, the job is as good as unknown. */
async function content(
  openRouter: OpenRouter,
  request: SimulatedRequest,
): Promise<SimulatedResponse> {
  const job = openRouter.known(request);
  if (!job) return notFound(request);
  const { searchParams } = new URL(openRouter.linkTo(job));
  const spec = outputSpecOf(job);
  const served = await openRouter.outputs.serve(job.id, searchParams, job.quirks, spec);
  return served.status === 200 ? served : notFound(request);
}

function notFound({ groups: [id = ''] }: SimulatedRequest): SimulatedResponse {
  return problem(404, { message: `Job ${id} not found` });
}

function shown(job: OpenRouterJob, status: string) {
  const polling_url = `${job.origin}${VIDEOS}/${job.id}`;
  const common = { id: job.id, generation_id: job.id, polling_url, status };
  if (status === 'completed') {
    const unsigned_urls = [`${polling_url}/content?index=0`];
    return { ...common, unsigned_urls, usage: { cost: 0.5, is_byok: false } };
  }
  return ENDS.has(status) ? { ...common, error: errorText(job) } : common;
}
