import { Type } from 'typebox';
import { REPORT_REASONS, receiveReport } from '../reports/reports.ts';
import { countMail } from '../sign-in/codes.ts';
import { givenEmail } from './auth/code.ts';
import type { GuardDeps } from './guard.ts';
import { siteRoute } from './route.ts';

/** Takes a report. The response is the same, whether the video exists or not. */
export const postReport = siteRoute('POST /console/api/reports', {
  access: 'public',
  rate: { max: 10, seconds: 3600 },
  body: Type.Object({
    video: Type.String({ minLength: 1, maxLength: 2048 }),
    reason: Type.Enum([...REPORT_REASONS]),
    email: Type.Optional(Type.String({ maxLength: 300 })),
    evidence: Type.String({ maxLength: 4000 }),
  }),
  handle: async (deps: GuardDeps, { body: { email, ...given } }) => {
    const contact = email ? givenEmail(email) : null;
    if (contact !== null) await countMail(deps.db, contact);
    return { receipt: await receiveReport(deps, { ...given, contact }) };
  },
});
