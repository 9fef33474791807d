import { Type } from 'typebox';
import { ApiError } from '../../kernel/errors.ts';
import { endSession, listSessions, type SessionListing } from '../../sign-in/sessions.ts';
import { clearSessionCookie } from '../auth/cookies.ts';
import { type AsJson, type PageDeps, siteRoute } from '../route.ts';

export interface SessionItem extends AsJson<SessionListing> {
  /** Whether it is the session of this request. */
  is_current: boolean;
}

const getSessions = siteRoute('GET /console/api/sessions', {
  handle: async ({ db }: PageDeps, { session: { accountId, sessionId } }) => {
    const sessions = await listSessions(db, accountId);
    const items = sessions.map((session) => ({ ...session, is_current: session.id === sessionId }));
    return { items, next: null };
  },
});

const deleteSession = siteRoute('DELETE /console/api/sessions/:id', {
  params: Type.Object({ id: Type.String({ maxLength: 60, pattern: '^\\w+$' }) }),
  handle: async ({ db }: PageDeps, { params, session: { accountId } }) => {
    if (await endSession(db, params.id, accountId)) return {};
    throw new ApiError('not_found', 'This session has ended already.');
  },
});

const signOut = siteRoute('POST /auth/sign-out', {
  handle: async ({ db, publicUrl }: PageDeps, { reply, session }) => {
    await endSession(db, session.sessionId, session.accountId);
    clearSessionCookie(reply, publicUrl());
    return {};
  },
});

export const SESSION_ROUTES = [getSessions, deleteSession, signOut];
