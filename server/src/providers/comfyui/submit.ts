import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { createRefusalReader, rejected, truncate } from '../kit/outcomes.ts';
import { ServerError } from '../kit/remote.ts';
import type { JobSpec, ProviderInput, SubmitOutcome } from '../provider.ts';
import { readPrompt } from './job.ts';
import { promptIdOf } from './prompt-id.ts';
import type { ComfyuiServer } from './server.ts';
import { type InputFiles, upload } from './uploads.ts';
import { type FrameRules, plainValues } from './values.ts';
import {
  fillWorkflow,
  type NamedInput,
  namedInputs,
  type Workflow,
  workflowFor,
} from './workflow.ts';

interface ComfyuiDeps {
  server: ComfyuiServer;
  workflows: Workflow[];
  frameRules: FrameRules;
  files: InputFiles;
}

/**
 * These statuses mean that the server, or the proxy in front of it, has not processed the request:
 * a wrong address, a missing permission, a size limit. The operator can fix them, the client can't.
 */
const OPERATOR_STATUSES = new Set([401, 403, 404, 405, 411, 413, 414, 415, 431]);

/**
 * Uploads the files that the workflow asks for, before the submit, because large files take longer
 * than the time limit of a submit. The submit then finds them on the server.
 * @throws ServerError when a file did not arrive
 */
export async function uploadInputs(deps: ComfyuiDeps, given: ProviderInput[]): Promise<void> {
  const inputs = namedInputs(given);
  const workflow = workflowFor(deps.workflows, inputs);
  for (const { name, input } of inputs) {
    if (workflow?.placeholders.has(name)) await upload(deps.server, input, deps.files);
  }
}

/**
 * Posts a job with the attempt's own id, and returns the id in the response. The server would queue
 * an id a second time, so the job is read first. A failure before the post is never `unknown`.
 */
export async function submitPrompt(
  deps: ComfyuiDeps,
  jobSpec: JobSpec,
  mayStillSend: () => boolean,
): Promise<SubmitOutcome> {
  const inputs = namedInputs(jobSpec.inputs);
  const workflow = workflowFor(deps.workflows, inputs);
  if (!workflow) return rejected('operator', `no workflow takes ${namesOf(inputs)}`);
  if (!mayStillSend()) return { kind: 'not_sent', cause: 'the time to send was over' };
  const jobId = promptIdOf(jobSpec.attemptId);
  let graph: unknown;
  try {
    graph = await fillIn(deps, workflow, jobSpec, inputs);
    const { kind } = await readPrompt(deps.server, jobId);
    if (kind !== 'missing') return { kind: 'accepted', jobId };
  } catch (error) {
    return outcomeOfFailure(error);
  }
  const { api, baseUrl } = deps.server;
  const json = { prompt: graph, prompt_id: jobId };
  const answer = { idField: 'prompt_id', refusal };
  return api.submit({ url: `${baseUrl}/prompt`, json, mayStillSend, ...answer });
}

function namesOf(inputs: NamedInput[]): string {
  return inputs.map(({ name }) => name).join(', ') || 'a prompt alone';
}

async function fillIn(
  deps: ComfyuiDeps,
  workflow: Workflow,
  jobSpec: JobSpec,
  inputs: NamedInput[],
): Promise<unknown> {
  const values = new Map(Object.entries(plainValues(jobSpec, deps.frameRules)));
  for (const { name, input } of inputs) {
    values.set(`${name}_url`, input.url);
    if (!workflow.placeholders.has(name)) continue;
    values.set(name, await upload(deps.server, input, deps.files));
  }
  return fillWorkflow(workflow, values);
}

function outcomeOfFailure(error: unknown): SubmitOutcome {
  const cause = error instanceof Error ? error.message : String(error);
  const status = error instanceof ServerError ? error.status : undefined;
  const isOperatorFault = status !== undefined && OPERATOR_STATUSES.has(status);
  return isOperatorFault ? rejected('operator', cause) : { kind: 'not_sent', cause };
}

/** A 400 in ComfyUI's format; `node_errors` names the inputs that a node refused. */
const RefusalSchema = Type.Object({
  error: Type.Object({
    type: Type.String(),
    message: Type.String(),
    details: Type.Optional(Type.String()),
  }),
  node_errors: Type.Optional(Type.Unknown()),
});

/**
 * A refused graph is the operator's fault, because the client did not write it: a node or a model
 * is not installed, or a value is out of a node's range.
 */
const refusal = createRefusalReader({
  errorIn(body, status) {
    if (status === 400) return Value.Check(RefusalSchema, body) ? body : undefined;
    return status === 429 || OPERATOR_STATUSES.has(status) ? {} : undefined;
  },
  causeOf({ status, body }) {
    if (!Value.Check(RefusalSchema, body)) return `HTTP ${status}`;
    const { type, message, details = '' } = body.error;
    const nodes = JSON.stringify(body.node_errors ?? {});
    return truncate(`${type}: ${message} ${details} ${nodes}`);
  },
  meaningOf: (_, status) => (status === 429 ? 'busy' : 'operator'),
});
