import type { Database } from '../../database/database.ts';
import { endSession } from '../../sign-in/sessions.ts';
import { SESSION_COOKIE, setCookie } from '../cookies.ts';
import { sessionOf, siteRoute } from '../route.ts';

interface SignOutDeps {
  db: Database;
  publicUrl(): string;
}

/** Ends the session of the request. */
export const signOut = siteRoute({
  method: 'POST',
  url: '/auth/sign-out',
  handle: async ({ db, publicUrl }: SignOutDeps, { request, reply }) => {
    await endSession(db, sessionOf(request));
    const deleted = { name: SESSION_COOKIE, value: '', seconds: 0 };
    reply.header('set-cookie', setCookie(publicUrl(), deleted));
    return {};
  },
});
