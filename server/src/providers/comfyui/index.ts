import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { inputsOf } from '../../catalog/request.ts';
import { UsageError } from '../../kernel/errors.ts';
import { namingVariables } from '../../kernel/variables.ts';
import { hostAndPort } from '../../outbound/addresses.ts';
import { createGuardedFetch } from '../../outbound/guarded-fetch.ts';
import type { ProviderDefinition } from '../definition.ts';
import { identityOf, type RemoteDeps } from '../kit/remote.ts';
import { type Adapter, type CancelOutcome, type Capabilities, ROLES } from '../provider.ts';
import { findPrompt } from './find.ts';
import { readPrompt } from './job.ts';
import { openSavedVideo } from './outputs.ts';
import { type ComfyuiServer, openServer, unexpectedResponse } from './server.ts';
import { type ComfyuiSettings, readComfyuiSettings, readWorkflow } from './settings.ts';
import { submitPrompt, uploadInputs } from './submit.ts';
import type { InputFiles } from './uploads.ts';
import { COMFYUI_FIELDS } from './values.ts';
import { namedInputs, parseWorkflow, workflowFor } from './workflow.ts';

export const comfyui: ProviderDefinition<ComfyuiSettings> = {
  name: 'comfyui',
  needs: [
    {
      variable: 'COMFYUI_BASE_URL',
      wanted: 'the address of a ComfyUI server, such as http://10.0.0.5:8188',
    },
    {
      variable: 'COMFYUI_WORKFLOWS',
      wanted: 'workflow files exported by "Export (API)", separated by commas',
    },
  ],
  readSettings: readComfyuiSettings,
  apiKey: () => undefined,
  // The server is in the operator's own network, where plain http is allowed.
  baseUrls: () => ({}),
  fetchesInputs: false, // they are uploaded, and ComfyUI never calls back
  fields: { table: COMFYUI_FIELDS, shown: (name) => `{{${name}}}` },
  async create(settings, deps) {
    const workflows = await Promise.all(settings.workflowFiles.map(readWorkflow));
    const options = { ...settings, workflows };
    return namingVariables('COMFYUI_WORKFLOWS', () => createComfyui(options, deps));
  },
};

export interface ComfyuiOptions
  extends Pick<ComfyuiSettings, 'baseUrl' | 'authorization' | 'frameRules' | 'jobLimitSeconds'> {
  /** Templates in ComfyUI's API format. The first that takes exactly a request's files is used. */
  workflows: Array<{ name: string; text: string }>;
}

export type ComfyuiDeps = Omit<RemoteDeps, 'guardedFetch'> & { storage: InputFiles };

/**
 * A self-hosted ComfyUI server that runs an operator's workflow. The service chooses the job id, so
 * finds are exact. Queue and history are in the server's memory, so a restart loses them.
 * Source: ComfyUI `server.py`, `execution.py`, `comfy_execution/jobs.py`.
 * @throws UsageError, one line, when a workflow can't be used
 */
export function createComfyui(options: ComfyuiOptions, adapterDeps: ComfyuiDeps): Adapter {
  const { frameRules, jobLimitSeconds } = options;
  const { storage: files, maxOutputBytes, now } = adapterDeps;
  const workflows = options.workflows.map(({ name, text }) => parseWorkflow(name, text));
  if (workflows.length === 0) throw new UsageError('comfyui needs a workflow');
  const server = openServer(options, adapterDeps);
  // Only this guarded fetch allows the server's address: URLs from clients must not reach it.
  const allow = new Set([hostAndPort(new URL(server.baseUrl))]);
  const guardedFetch = createGuardedFetch({ allow });
  const deps = { server, workflows, frameRules, files };
  return {
    identity: identityOf(server.baseUrl),
    capabilities: { ...CAPABILITIES, jobLimitSeconds },
    canServe: (request) => {
      const inputs = inputsOf(request).map(({ field }) => ({ role: ROLES[field] }));
      return workflowFor(workflows, namedInputs(inputs)) !== undefined;
    },
    prepare: (inputs) => uploadInputs(deps, inputs),
    submit: (jobSpec, mayStillSend) => submitPrompt(deps, jobSpec, mayStillSend),
    find: (attempt) => findPrompt(server, attempt, now),
    read: (jobId) => readPrompt(server, jobId),
    cancel: (jobId) => cancelPrompt(server, jobId),
    openOutput: (output) => openSavedVideo(output, server, { guardedFetch, maxOutputBytes }),
    stop: () => guardedFetch.close(),
  };
}

const CAPABILITIES: Omit<Capabilities, 'jobLimitSeconds'> = {
  exactOutput: false,
  // Validating a graph takes time, and the server then queues the job even if the caller is gone.
  findLagSeconds: 60,
  // A year: files stay until the operator deletes them.
  outputLifeSeconds: 365 * 86_400,
  budgets: {},
};

const CancelledSchema = Type.Object({ cancelled: Type.Boolean() });

/** Source: ComfyUI `server.py`, `POST /api/jobs/{id}/cancel`. */
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
