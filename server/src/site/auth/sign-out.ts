import type { Database } from '../../database/database.ts';
import { endSession } from '../../sign-in/sessions.ts';
import { siteRoute } from '../route.ts';
import { takeSession } from './browser.ts';

interface SignOutDeps {
  db: Database;
  publicUrl(): string;
}

/** Ends the session of the request. */
export const signOut = siteRoute('POST /auth/sign-out', {
  handle: async ({ db, publicUrl }: SignOutDeps, { reply, session }) => {
    await endSession(db, session);
    takeSession(reply, publicUrl());
    return {};
  },
});
