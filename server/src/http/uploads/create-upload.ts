import { uploadUrl } from '../../catalog/request.ts';
import { acceptStreams, shownUpload } from '../../requests/uploads/receive-upload.ts';
import { UPLOAD_SECONDS } from '../../requests/uploads/upload-limits.ts';
import { described, type Endpoint } from '../public/endpoint.ts';
import { admittedOwner, type UploadEndpointDeps } from './upload-endpoint.ts';
import { EXAMPLE_UPLOAD, UPLOAD_ERRORS, UploadSchema } from './upload-shapes.ts';

/** POST /uploads: receives the bytes of an image or a video. What the file is, its bytes decide. */
export const createUpload: Endpoint<UploadEndpointDeps> = {
  description: described('POST /uploads', {
    operationId: 'createUpload',
    summary: 'Upload an image or a video for the media fields of a create',
    description: 'The body is the file. Content-Type and Content-Length are required.',
    consumes: ['image/*', 'video/*'],
    body: { type: 'string', format: 'binary' },
    response: {
      201: { description: 'The upload.', ...UploadSchema, examples: [EXAMPLE_UPLOAD] },
      ...UPLOAD_ERRORS,
    },
  }),
  serve(api, { gate, db, uploads, publicUrl }) {
    const { admit, ownerOf } = admittedOwner(gate, 'admit_upload');
    // A scope of its own: this body is a stream, and no JSON.
    api.register((scope, _options, done) => {
      acceptStreams(scope);
      scope.route({
        ...createUpload.description,
        config: { admit, bodySeconds: UPLOAD_SECONDS },
        validatorCompiler: () => () => true,
        handler: async (request, reply) => {
          const owner = ownerOf(request);
          const id = await uploads.receive(request, reply, owner);
          const named = { accountId: owner.accountId, id };
          reply.code(201);
          return shownUpload(db, named, (shown) => uploadUrl(publicUrl(), shown));
        },
      });
      done();
    });
  },
};
