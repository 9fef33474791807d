import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { UsageError } from '../../kernel/errors.ts';
import { createGuardedFetch } from '../../outbound/guarded-fetch.ts';
import { identityOf } from '../kit/remote.ts';
import type { CancelOutcome, Capabilities, Provider } from '../provider.ts';
import { findPrompt, readPrompt } from './find.ts';
import { openSavedVideo } from './outputs.ts';
import { type ComfyuiServer, openServer, unexpectedResponse } from './server.ts';
import { submitPrompt, uploadInputs } from './submit.ts';
import type { InputFiles } from './uploads.ts';
import type { FrameRules } from './values.ts';
import { parseWorkflow } from './workflow.ts';

export interface ComfyuiOptions {
  /** Such as `http://10.0.0.5:8188`: one server; private addresses and http are allowed. */
  baseUrl: string;
  /** The Authorization header for a proxy in front of the server. */
  authorization?: string | undefined;
  /** Templates in ComfyUI's API format. The first that takes exactly a request's files is used. */
  workflows: Array<{ name: string; text: string }>;
  frameRules: FrameRules;
  files: InputFiles;
  /** For each call. */
  timeoutSeconds: number;
  /** Seconds after which a job counts as never ending. */
  jobLimitSeconds: number;
  maxOutputBytes: number;
  /** Milliseconds since 1970, by the clock that `sentBetween` is measured with. */
  now(): number;
}

const DAY_SECONDS = 86_400;

/**
 * A self-hosted ComfyUI server that runs an operator's workflow. The service chooses the job id, so
 * finds are exact. Queue and history are in the server's memory, so a restart loses them.
 * Source: ComfyUI `server.py`, `execution.py`, `comfy_execution/jobs.py`.
 * @throws UsageError, one line, when a workflow or the address can't be used
 */
export function createComfyuiProvider(options: ComfyuiOptions): Provider {
  const workflows = options.workflows.map(({ name, text }) => parseWorkflow(name, text));
  if (workflows.length === 0) throw new UsageError('comfyui needs a workflow');
  const server = openServer(options);
  // Only this guarded fetch allows the server's address: URLs from clients must not reach it.
  const guardedFetch = createGuardedFetch({ allow: new Set([hostAndPort(server)]) });
  const { frameRules, files, maxOutputBytes: maxBytes } = options;
  const deps = { server, workflows, frameRules, files };
  return {
    name: 'comfyui',
    identity: identityOf(server.baseUrl),
    capabilities: capabilitiesOf(options),
    prepare: (inputs) => uploadInputs(deps, inputs),
    submit: (jobSpec, mayStillSend) => submitPrompt(deps, jobSpec, mayStillSend),
    find: (attempt) => findPrompt(server, attempt, options.now),
    read: (jobId) => readPrompt(server, jobId),
    cancel: (jobId) => cancelPrompt(server, jobId),
    openOutput: (output) => openSavedVideo(output, { server, guardedFetch, maxBytes }),
    stop: () => guardedFetch.close(),
  };
}

function hostAndPort({ baseUrl }: ComfyuiServer): string {
  const url = URL.parse(baseUrl);
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== '') {
    throw new UsageError('comfyui needs the address of a server, such as http://10.0.0.5:8188');
  }
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return `${url.hostname.replace(/\.$/, '')}:${port}`;
}

function capabilitiesOf(options: ComfyuiOptions): Capabilities {
  return {
    exactOutput: false,
    // The server validates a graph before it queues the job, even if the connection has ended.
    findLagSeconds: 60,
    jobLimitSeconds: options.jobLimitSeconds,
    // Files stay until the operator deletes them.
    outputLifeSeconds: 365 * DAY_SECONDS,
    budgets: {},
  };
}

const CancelledSchema = Type.Object({ cancelled: Type.Boolean() });

/**
 * Removes a job from the server's queue, or interrupts it. Servers without `/api/jobs` refuse.
 * Source: ComfyUI `server.py`, `POST /api/jobs/{id}/cancel`.
 */
async function cancelPrompt(server: ComfyuiServer, jobId: string): Promise<CancelOutcome> {
  const path = `/api/jobs/${encodeURIComponent(jobId)}/cancel`;
  const { status, body } = await server.api.request('POST', server.baseUrl + path);
  if (status === 200 && Value.Check(CancelledSchema, body)) {
    if (body.cancelled) return { kind: 'accepted' };
    return { kind: 'refused', cause: 'the job neither waits nor runs at the server' };
  }
  if (status !== 404 && status !== 405) throw unexpectedResponse(path, status);
  const cause = 'the server does not know the job, or is too old to cancel one by its id';
  return { kind: 'refused', cause };
}
