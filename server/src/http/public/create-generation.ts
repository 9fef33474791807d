import type { FastifyRequest } from 'fastify';
import type { KeyGate } from '../../accounts/key-gate.ts';
import { GenerationBodySchema, type GenerationRequest } from '../../catalog/request.ts';
import { TEST_SURFACE } from '../../ledger/transfer.ts';
import { type CallerPause, PAUSE_OF_CALLER } from '../../moderation/account-pause.ts';
import { type Availability, availabilitySql } from '../../providers/circuit-breaker/outages.ts';
import { TEST_PROVIDER } from '../../providers/test-provider.ts';
import { requireJsonType } from '../../requests/bodies.ts';
import { type CreateFlowDeps, createFlow, wellFormedKey } from '../../requests/create-flow.ts';
import { inSpanOf } from '../../requests/spans.ts';
import { VideoTaskSchema, videoTask } from '../../requests/video-task.ts';
import type { Links } from '../../storage/links.ts';
import { taskCreator } from '../../tasks/create/create.ts';
import { type BoundKey, KEY_OF_CALLER } from '../../tasks/create/idempotency-keys.ts';
import { publicColumns } from '../../tasks/task.ts';
import { awaitResponse, type Waiting } from '../../tasks/waiting.ts';
import { callerOf, endpoint, fusedRead, type PublicRequest } from './endpoint.ts';
import {
  EXAMPLE_NEW_TASK,
  EXAMPLE_TASK,
  errorResponses,
  IdempotencyKeyHeader,
  shown,
} from './schemas.ts';

export interface CreateGenerationDeps extends CreateFlowDeps {
  gate: KeyGate;
  links: Links;
  waiting: Waiting;
}

/** The Idempotency-Key's row; all null for a new key. */
type KeyColumns = { [Column in keyof BoundKey]: BoundKey[Column] | null };

type CreateColumns = KeyColumns & Availability & CallerPause;

const AVAILABILITY = availabilitySql(
  `case caller.surface when '${TEST_SURFACE}' then '${TEST_PROVIDER}' else $4::text end`,
);

/** POST /video/generations: checks the request in the order of C7, creates the task and waits. */
export const createGeneration = endpoint<CreateGenerationDeps, { Body: GenerationRequest }>(
  'POST /video/generations',
  {
    operationId: 'createVideo',
    summary: 'Create a video generation task',
    headers: IdempotencyKeyHeader,
    body: GenerationBodySchema,
    response: {
      202: shown('A new task was accepted.', VideoTaskSchema, EXAMPLE_NEW_TASK),
      200: shown('The task of an earlier identical request.', VideoTaskSchema, EXAMPLE_TASK),
      ...errorResponses(400, 401, 402, 409, 413, 429, 503),
    },
    serve: (deps) => {
      const { gate, links } = deps;
      const read = {
        columns: `${KEY_OF_CALLER.columns}, ${AVAILABILITY.columns}, ${PAUSE_OF_CALLER.columns}`,
        joins: `${KEY_OF_CALLER.joins} ${AVAILABILITY.joins} ${PAUSE_OF_CALLER.joins}`,
        values: [deps.providerName],
        // A malformed key is refused by the flow, after the admission.
        argumentOf: (request: PublicRequest) => wellFormedKey(request) ?? '',
      };
      const { admit, rowOf } = fusedRead<CreateColumns>(gate, 'admit_create', read);
      const flow = createFlow(deps, {
        callerOf: jsonCallerOf,
        readKey: async (request) => {
          const { fingerprint, task_id } = rowOf(request);
          return fingerprint === null ? undefined : { fingerprint, task_id };
        },
        availabilityOf: async (request) => rowOf(request),
        create: taskCreator(deps),
        awaitAcceptance: (request, task) =>
          inSpanOf(request, 'wait for the acceptance', () => awaitResponse(deps, task)),
        view: (task) => videoTask(publicColumns(task), links),
      });
      return { ...flow, config: { ...flow.config, admit, isCreate: true } };
    },
  },
);

/** @throws ApiError `invalid_request` for a bad content type, checked before the Idempotency-Key */
function jsonCallerOf(request: FastifyRequest) {
  requireJsonType(request.headers['content-type']);
  const { accountId, surface, keyId, hasCap } = callerOf(request);
  return { accountId, surface, apiKey: { id: keyId, hasCap } };
}
