import { jobIdIn } from '../kit/job-id.ts';
import { openOutputAt } from '../kit/open-output.ts';
import {
  type Api,
  forged,
  identityOf,
  type JsonResponse,
  openApi,
  parseJson,
  type RemoteOptions,
} from '../kit/remote.ts';
import type {
  Callback,
  CancelOutcome,
  Capabilities,
  JobSpec,
  JobStatus,
  Provider,
} from '../provider.ts';
import { arkCause, arkErrorIn, arkRefusal, refusedSubmit } from './errors.ts';
import { findArkJob } from './find.ts';
import { arkJob, statusOf } from './job.ts';
import { type ArkModels, createBody } from './request.ts';
import { createScans, listPage, type Page } from './scan.ts';

interface ArkOptions extends RemoteOptions {
  /**
   * The base URL with the API version, for example
   * `https://ark.ap-southeast.bytepluses.com/api/v3`.
   */
  baseUrl: string;
  apiKey: string;
  /** Model ids or endpoint ids (`ep-...`). */
  models: ArkModels;
  /**
   * Sends the attempt's id as `safety_identifier`, so that a find is exact. On by default. The
   * field is meant for a stable id of an end user, and Ark echoes nothing else that is unique to an
   * attempt. Without it, or behind a gateway that does not echo it, two similar attempts can't be
   * told apart: a single similar job is found by likeness, even if it belongs to another attempt
   * whose response was lost. If Ark reports abuse, the operator can find the end user by the
   * attempt's id in the service's records. An operator who has promised Ark an id of each end user
   * must switch marking off.
   */
  markAttempts?: boolean | undefined;
  /** The limit of the account; by default that of enterprises. */
  submitsPerMinute?: number | undefined;
}

/** The limit of enterprises; individuals have 180. Source: the page on limits. */
export const SUBMITS_PER_MINUTE = 600;

/**
 * Sources: the create, get and list pages of the API reference and its page on limits.
 */
function capabilitiesOf({ submitsPerMinute = SUBMITS_PER_MINUTE }: ArkOptions): Capabilities {
  return {
    exactOutput: false,
    findLagSeconds: 60,
    jobLimitSeconds: 172_800,
    outputLifeSeconds: 86_400,
    budgets: {
      submit: { callsPerSecond: submitsPerMinute / 60 },
      read: { callsPerSecond: 20 },
      find: { callsPerSecond: 1 },
    },
  };
}

const READ_SECONDS = 15;
const TASKS = '/contents/generations/tasks';

/**
 * BytePlus ModelArk and Volcengine Ark, "video generation tasks". The job of a submit whose
 * response was lost is found by its callback (each attempt has its own callback path) or in the
 * list of tasks.
 */
export function createArkProvider(options: ArkOptions): Provider {
  const { models } = options;
  const authorization = `Bearer ${options.apiKey}`;
  const api = openApi({ readTimeoutSeconds: READ_SECONDS, ...options }, { authorization });
  const tasksUrl = options.baseUrl.replace(/\/+$/, '') + TASKS;
  const urlOf = (jobId: string) => `${tasksUrl}/${encodeURIComponent(jobId)}`;
  const isMarking = options.markAttempts ?? true;
  const markOf = ({ attemptId }: JobSpec) => (isMarking ? attemptId : null);
  const page = async (query: string) => pageIn(await api.get(`${tasksUrl}?${query}`));
  const scan = createScans({ page, nextTurn: api.nextListTurn });
  return {
    name: 'ark',
    identity: identityOf(options.baseUrl, options.apiKey, models, isMarking),
    capabilities: capabilitiesOf(options),
    submit(jobSpec, mayStillSend) {
      const json = createBody(jobSpec, models, markOf(jobSpec));
      // The id is for tracing: Ark does not deduplicate by it.
      const headers = { 'x-client-request-id': jobSpec.attemptId };
      const answer = { idField: 'id', refusal: refusedSubmit };
      return api.submit({ url: tasksUrl, headers, json, mayStillSend, ...answer });
    },
    find: (attempt) => findArkJob({ models, isMarking, scan, now: options.now }, attempt),
    read: async (jobId) => readStatus(jobId, await api.get(urlOf(jobId))),
    cancel: (jobId) => cancelQueued(api, urlOf(jobId), jobId),
    openOutput: ({ url }) => openOutputAt(url, options),
    readCallback: async ({ body }) => readCallback(parseJson(body)),
  };
}

function readStatus(jobId: string, response: JsonResponse): JobStatus {
  const job = response.status === 200 ? arkJob(response.body) : undefined;
  if (job?.id === jobId) return statusOf(job);
  if (isUnknownTask(response)) return { kind: 'missing' };
  throw notReadable(response);
}

/**
 * Cancels a task that waits in Ark's queue. A DELETE refuses a running task, and deletes the record
 * of an ended one with its video. So it is sent only if the task was queued a moment ago: a
 * video takes far longer than the call may take.
 * Source: the delete page of the API reference.
 */
async function cancelQueued(api: Api, url: string, jobId: string): Promise<CancelOutcome> {
  const read = await api.get(url);
  const job = read.status === 200 ? arkJob(read.body) : undefined;
  if (job?.id !== jobId && isUnknownTask(read)) {
    return { kind: 'refused', cause: 'Ark does not know the job' };
  }
  if (job?.id !== jobId) throw notReadable(read);
  if (job.status === 'cancelled') return { kind: 'accepted' };
  if (job.status !== 'queued') {
    return {
      kind: 'refused',
      cause: `Ark cancels only queued jobs, and this one is ${job.status}`,
    };
  }
  const response = await api.request('DELETE', url);
  if (response.status === 200) return { kind: 'accepted' };
  const error = arkErrorIn(response);
  if (!error || response.status >= 500 || response.status === 429) throw notReadable(response);
  return { kind: 'refused', cause: arkCause(error, response.status) };
}

/**
 * A 404 that is about a model or an endpoint, or that comes from a proxy, says nothing about the
 * task.
 */
function isUnknownTask(response: JsonResponse): boolean {
  const error = response.status === 404 ? arkErrorIn(response) : undefined;
  return error !== undefined && !/Model|Endpoint/.test(error.code);
}

function notReadable(response: JsonResponse): Error {
  const error = arkErrorIn(response);
  if (!error)
    return new Error(`the response of Ark, HTTP ${response.status}, is not in its format`);
  const kind = arkRefusal(error, response.status);
  return new Error(`Ark refused (${kind}): ${arkCause(error, response.status)}`);
}

function pageIn(response: JsonResponse): Page {
  if (response.status !== 200) throw notReadable(response);
  return listPage(response.body);
}

/**
 * Ark does not sign callbacks. Anyone who knows the attempt's path can send one, so it is only a
 * wake-up.
 */
function readCallback(json: unknown): Callback {
  if (typeof json !== 'object' || json === null) return forged('not a JSON object');
  return { kind: 'report', jobId: jobIdIn(json, 'id'), verified: false };
}
