import type { Static } from 'typebox';
import { joinAccount } from '../../accounts/account-sql.ts';
import type { KeyGate } from '../../accounts/key-gate.ts';
import { uploadUrl } from '../../catalog/request.ts';
import type { Database } from '../../database/database.ts';
import { storable } from '../../database/json-text.ts';
import { invalidRequest } from '../../kernel/errors.ts';
import { requireJsonType } from '../../requests/bodies.ts';
import {
  acceptStreams,
  admitUpload,
  noUpload,
  shownUpload,
  UPLOAD_SECONDS,
  type UploadOwner,
  type Uploads,
} from '../../requests/receive-upload.ts';
import type { Storage } from '../../storage/storage.ts';
import { deleteUpload } from '../../tasks/delete-upload.ts';
import { registerUpload } from '../../uploads/quota.ts';
import { UPLOAD_DAYS } from '../../uploads/uploads.ts';
import { callerOf, type Endpoint, endpoint, fusedRead, idInPath } from './endpoint.ts';
import { conflictResponse, errorResponses, shown } from './schemas.ts';
import {
  EXAMPLE_PRESIGNED_UPLOAD,
  EXAMPLE_UPLOAD,
  PresignedUploadBodySchema,
  PresignedUploadSchema,
  UPLOAD_ERRORS,
  UploadSchema,
} from './upload-shapes.ts';

export interface UploadEndpointDeps {
  gate: KeyGate;
  db: Database;
  storage: Storage;
  uploads: Uploads;
  publicUrl(): string;
}

function admitAndReadOwner(gate: KeyGate, name: string) {
  const read = { columns: 'a.email', joins: joinAccount('caller.account_id') };
  const { admit, rowOf } = fusedRead<{ email: string }>(gate, name, read);
  const ownerOf = (request: Parameters<typeof callerOf>[0]): UploadOwner => {
    const { accountId } = callerOf(request);
    return { accountId, email: rowOf(request).email, surface: 'api' };
  };
  return { admit, ownerOf };
}

const receiveUpload = endpoint<UploadEndpointDeps>('POST /uploads', {
  operationId: 'createUpload',
  summary: 'Upload an image or a video for the media fields of a create',
  description: 'The body is the file. Content-Type and Content-Length are required.',
  consumes: ['image/*', 'video/*'],
  body: { type: 'string', format: 'binary' },
  response: {
    201: shown('The upload.', UploadSchema, EXAMPLE_UPLOAD),
    ...UPLOAD_ERRORS,
  },
  serve: ({ gate, db, uploads, publicUrl }) => {
    const { admit, ownerOf } = admitAndReadOwner(gate, 'admit_upload');
    return {
      config: { admit, bodySeconds: UPLOAD_SECONDS },
      validatorCompiler: () => () => true, // the body is a stream, which its schema only describes
      handler: async (request, reply) => {
        const owner = ownerOf(request);
        const id = await uploads.receive(request, reply, owner);
        reply.code(201);
        return shownUpload(db, { ...owner, id }, () => uploadUrl(publicUrl(), id));
      },
    };
  },
});

/**
 * POST /uploads: receives an image or a video, whose type is read from its bytes. It has its own
 * Fastify scope: its body is a stream, not JSON.
 */
export const createUpload: Endpoint<UploadEndpointDeps> = {
  ...receiveUpload,
  serve(api, deps) {
    api.register((scope, _options, done) => {
      acceptStreams(scope);
      receiveUpload.serve(scope, deps);
      done();
    });
  },
};

const LINK_SECONDS = 900;

/**
 * POST /uploads/presigned: registers an upload whose bytes the client sends to the bucket. The
 * upload counts towards the quota at once; its first use checks whether the bytes have arrived.
 */
export const createPresignedUpload = endpoint<
  UploadEndpointDeps,
  { Body: Static<typeof PresignedUploadBodySchema> }
>('POST /uploads/presigned', {
  operationId: 'createPresignedUpload',
  summary: 'Get a link by which a file is sent to the storage directly',
  description: 'Only where the service stores files in an S3 bucket.',
  body: PresignedUploadBodySchema,
  response: {
    201: shown(
      'The upload, and where to send its bytes.',
      PresignedUploadSchema,
      EXAMPLE_PRESIGNED_UPLOAD,
    ),
    ...errorResponses(400, 401, 413, 429, 503),
  },
  serve: (deps) => {
    const { gate, db, publicUrl } = deps;
    const { admit, ownerOf } = admitAndReadOwner(gate, 'admit_presigned_upload');
    return {
      config: { admit },
      preValidation: async ({ headers }) => requireJsonType(headers['content-type']),
      handler: async (request, reply) => {
        const presignPut = requirePresignPut(deps.storage);
        const { content_type: mediaType, size_bytes: sizeBytes } = request.body;
        const uploader = await admitUpload(db, ownerOf(request), sizeBytes);
        const kind = mediaType.startsWith('image/') ? 'image' : 'video';
        const file = { uploader, mediaType, sizeBytes, kind, facts: null } as const;
        const id = await registerUpload(db, file);
        const upload = await presignPut(id, { seconds: LINK_SECONDS, mediaType, sizeBytes });
        reply.code(201);
        return {
          id,
          url: uploadUrl(publicUrl(), id),
          expires_at: secondsFromNow(UPLOAD_DAYS.api * 86_400),
          upload: { method: 'PUT', ...upload, expires_at: secondsFromNow(LINK_SECONDS) },
        };
      },
    };
  },
});

function secondsFromNow(seconds: number): string {
  return new Date(Date.now() + seconds * 1000).toISOString();
}

/** @throws ApiError `invalid_request` if files are stored on disk */
function requirePresignPut({ presignPut }: Storage): NonNullable<Storage['presignPut']> {
  if (presignPut) return presignPut;
  const message = 'This service has no bucket. Send the file to POST /api/v1/uploads.';
  throw invalidRequest(message, { field: 'request', reason: 'no_bucket' });
}

export const deleteUploadOfCaller = endpoint<{ db: Database }>('DELETE /uploads/:id', {
  operationId: 'deleteUpload',
  summary: 'Delete an upload now; videos that were made with it stay',
  params: idInPath('UploadId', 'The id of an upload of this account'),
  response: {
    204: { description: 'The upload is deleted.', type: 'null' },
    ...errorResponses(400, 401, 404, 413, 429, 503),
    ...conflictResponse('upload_in_use', 'A task has not copied the file yet.'),
  },
  serve: ({ db }) => ({
    handler: async (request, reply) => {
      const { accountId } = callerOf(request);
      const id = storable(request.params.id ?? '');
      if (!(await deleteUpload(db, { accountId, id }))) throw noUpload();
      return reply.code(204).send();
    },
  }),
});
