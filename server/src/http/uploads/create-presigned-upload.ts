import { uploadUrl } from '../../catalog/request.ts';
import { invalidRequest } from '../../kernel/errors.ts';
import { requireJsonType } from '../../requests/bodies.ts';
import { admitUpload } from '../../requests/uploads/receive-upload.ts';
import type { Storage } from '../../storage/storage.ts';
import { registerUpload } from '../../uploads/register.ts';
import { UPLOAD_DAYS } from '../../uploads/uploads.ts';
import { described, type Endpoint } from '../public/endpoint.ts';
import { errorResponses } from '../public/schemas.ts';
import { admittedOwner, type UploadEndpointDeps } from './upload-endpoint.ts';
import {
  EXAMPLE_PRESIGNED_UPLOAD,
  PresignedUploadBodySchema,
  PresignedUploadSchema,
} from './upload-shapes.ts';

/** How long a link can be used. */
const LINK_SECONDS = 900;

interface Body {
  content_type: string;
  size_bytes: number;
}

/**
 * POST /uploads/presigned: registers an upload whose bytes the client sends to the bucket. It
 * counts in the quota at once. Its first use finds out whether it has arrived.
 */
export const createPresignedUpload: Endpoint<UploadEndpointDeps> = {
  description: described('POST /uploads/presigned', {
    operationId: 'createPresignedUpload',
    summary: 'Get a link by which a file is sent to the storage directly',
    description: 'Only where the service stores files in an S3 bucket.',
    body: PresignedUploadBodySchema,
    response: {
      201: {
        description: 'The upload, and where to send its bytes.',
        ...PresignedUploadSchema,
        examples: [EXAMPLE_PRESIGNED_UPLOAD],
      },
      ...errorResponses(400, 401, 413, 429, 503),
    },
  }),
  serve(api, deps) {
    const { gate, db, publicUrl } = deps;
    const { admit, ownerOf } = admittedOwner(gate, 'admit_presigned_upload');
    api.route<{ Body: Body }>({
      ...createPresignedUpload.description,
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
    });
  },
};

function secondsFromNow(seconds: number): string {
  return new Date(Date.now() + seconds * 1000).toISOString();
}

/** @throws ApiError `invalid_request` where files are stored on a disk */
function requirePresignPut({ presignPut }: Storage): NonNullable<Storage['presignPut']> {
  if (presignPut) return presignPut;
  const message = 'This service has no bucket. Send the file to POST /api/v1/uploads.';
  throw invalidRequest(message, { field: 'request', reason: 'no_bucket' });
}
