import type { Database } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { ObjectMissing, type Storage } from '../../storage/storage.ts';
import { hasVanished } from '../../storage/vanished.ts';
import { accountPoster } from '../../tasks/gallery/task-record.ts';
import { siteRoute } from '../route.ts';

/**
 * Sends the poster of a task to its account. Its address does not change, so a browser keeps it for
 * an hour; another session, with another cookie, does not get it from there.
 */
export const showPoster = siteRoute('GET /console/api/tasks/:id/poster', {
  handle: async (
    { db, storage, log }: { db: Database; storage: Storage; log: Log },
    { params, request, reply, session: { accountId } },
  ): Promise<void> => {
    const poster = await accountPoster(db, accountId, params.id);
    if (!poster) throw noPoster();
    const etag = `"${poster.id}"`;
    reply.headers({ etag, vary: 'cookie', 'cache-control': 'private, max-age=3600' });
    if (request.headers['if-none-match'] === etag) {
      reply.code(304).send();
      return;
    }
    const bytes = await storage.open(poster.id).catch(async (cause: unknown) => {
      if (cause instanceof ObjectMissing) {
        await hasVanished({ db, log }, poster.id);
        throw noPoster();
      }
      const message = 'The picture can’t be read at the moment. Try again in a few seconds.';
      throw new ApiError('service_busy', message, { retryAfterSeconds: 5, cause });
    });
    reply.headers({ 'content-type': 'image/webp', 'content-length': poster.size_bytes });
    reply.send(bytes);
  },
});

function noPoster(): ApiError {
  return new ApiError('not_found', 'This account has no video with this id and a poster.');
}
