import { Type } from 'typebox';
import type { Database } from '../../database/database.ts';
import { storable } from '../../database/json-text.ts';
import { noUpload } from '../../requests/uploads/receive-upload.ts';
import { deleteUpload } from '../../tasks/delete-upload.ts';
import { callerOf, described, type Endpoint, type PublicRoute } from '../public/endpoint.ts';
import { conflictResponse, errorResponses } from '../public/schemas.ts';

const ParamsSchema = Type.Object({
  id: Type.String({
    title: 'UploadId',
    maxLength: 120,
    description: 'The id of an upload of this account',
  }),
});

/** DELETE /uploads/{id}: the file is deleted now, and counts in the quota no longer. */
export const deleteUploadOfCaller: Endpoint<{ db: Database }> = {
  description: described('DELETE /uploads/:id', {
    operationId: 'deleteUpload',
    summary: 'Delete an upload now; videos that were made with it stay',
    params: ParamsSchema,
    response: {
      204: { description: 'The upload is deleted.', type: 'null' },
      ...errorResponses(400, 401, 404, 413, 429, 503),
      ...conflictResponse('upload_in_use', 'A task has not copied the file yet.'),
    },
  }),
  serve(api, { db }) {
    api.route<PublicRoute>({
      ...deleteUploadOfCaller.description,
      handler: async (request, reply) => {
        const { accountId } = callerOf(request);
        const id = storable(request.params.id ?? '');
        if (!(await deleteUpload(db, { accountId, id }))) throw noUpload();
        return reply.code(204).send();
      },
    });
  },
};
