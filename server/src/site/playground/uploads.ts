import type { Database } from '../../database/database.ts';
import {
  noUpload,
  shownUpload,
  UPLOAD_SECONDS,
  type Uploads,
  type UploadView,
  uploadView,
} from '../../requests/receive-upload.ts';
import { deleteUpload } from '../../tasks/delete-upload.ts';
import { usableUploads } from '../../uploads/uploads.ts';
import { type SiteRoute, sessionOf, siteRoute } from '../route.ts';
import { type FileDeps, openStored } from '../send-file.ts';

export interface SiteUploadDeps extends FileDeps {
  uploads: Uploads;
}

export type SiteUpload = UploadView;

/** Limited because each sends up to 100 MB, which the storage may bill. */
const DOWNLOADS = { max: 60, seconds: 60 };

/**
 * The body is the raw bytes of an image or a video, whose type is read from them. Needs
 * Content-Type and Content-Length.
 */
export const createSiteUpload: SiteRoute<
  SiteUploadDeps,
  { name: 'POST /console/api/uploads'; body: Blob; query: undefined; result: SiteUpload }
> = {
  serve(scope, { db, uploads }) {
    scope.route({
      method: 'POST',
      url: '/console/api/uploads',
      config: { access: 'session', bodySeconds: UPLOAD_SECONDS },
      handler: async (request, reply) => {
        const { accountId, email } = sessionOf(request);
        const id = await uploads.receive(request, reply, { accountId, email, surface: 'website' });
        return reply.code(201).send(await readOwnUpload(db, { accountId, id }));
      },
    });
  },
};

/** Reads an upload. Its `url` is the one for the media fields of a request: `upload:ID`. */
function readOwnUpload(
  db: Database,
  named: { accountId: string; id: string },
): Promise<SiteUpload> {
  return shownUpload(db, named, urlOfUpload);
}

const urlOfUpload = (id: string) => `upload:${id}`;

const getUploads = siteRoute('GET /console/api/uploads', {
  handle: async ({ db }: SiteUploadDeps, { session: { accountId } }) => {
    const uploads = await usableUploads(db, accountId);
    return { items: uploads.map((upload) => uploadView(upload, urlOfUpload)), next: null };
  },
});

const getUpload = siteRoute('GET /console/api/uploads/:id', {
  handle: ({ db }: SiteUploadDeps, { params, session: { accountId } }) =>
    readOwnUpload(db, { accountId, id: params.id }),
});

const deleteOwnUpload = siteRoute('DELETE /console/api/uploads/:id', {
  handle: async ({ db }: SiteUploadDeps, { params: { id }, session: { accountId } }) => {
    if (!(await deleteUpload(db, { accountId, id }))) throw noUpload();
    return { deleted: true };
  },
});

const getUploadFile = siteRoute('GET /console/api/uploads/:id/file', {
  rate: DOWNLOADS,
  handle: async (deps: SiteUploadDeps, { params, reply, session: { accountId } }) => {
    const { id, ...upload } = await readOwnUpload(deps.db, { accountId, id: params.id });
    const bytes = await openStored(deps, id, noUpload);
    reply.headers({
      'content-type': upload.media_type,
      'content-length': upload.size_bytes,
      'cache-control': 'private, max-age=3600',
      vary: 'cookie',
    });
    return bytes;
  },
});

export const UPLOAD_ROUTES = [getUploads, getUpload, deleteOwnUpload, getUploadFile];
