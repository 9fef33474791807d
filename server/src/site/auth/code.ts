import { Type } from 'typebox';
import { invalidRequest } from '../../kernel/errors.ts';
import type { SendMail } from '../../mail/mailer.ts';
import { enterByCode, sendCode } from '../../sign-in/codes.ts';
import { normalEmail } from '../../sign-in/email-address.ts';
import { type PageDeps, siteRoute } from '../route.ts';
import { onReopened } from '../tell-owner.ts';
import { setSessionCookie, signedInFrom } from './cookies.ts';

export interface CodeDeps extends PageDeps {
  sendMail: SendMail;
  signupCredits: number;
}

/** The normalized address. @throws ApiError `invalid_request` */
export function givenEmail(text: string): string {
  const email = normalEmail(text);
  if (email !== undefined) return email;
  throw invalidRequest('This is not an e-mail address.', { field: 'email', reason: 'malformed' });
}

/** Mails a code. The response is the same for every address. */
const postCode = siteRoute('POST /auth/code', {
  access: 'public',
  rate: { max: 20, seconds: 600 },
  body: Type.Object({ email: Type.String({ maxLength: 300 }) }),
  handle: async (deps: CodeDeps, { body }) => {
    await sendCode(deps, givenEmail(body.email));
    return {};
  },
});

const postCodeVerify = siteRoute('POST /auth/code/verify', {
  access: 'public',
  rate: { max: 30, seconds: 600 },
  body: Type.Object({
    email: Type.String({ maxLength: 300 }),
    code: Type.String({ pattern: '^\\d{8}$' }),
  }),
  handle: async (deps: CodeDeps, { body, request, reply }) => {
    const given = { email: givenEmail(body.email), code: body.code };
    const from = signedInFrom(request, deps.publicUrl());
    const reopening = onReopened({ ...deps, request });
    const entered = await enterByCode({ ...deps, onReopened: reopening }, given, from);
    setSessionCookie(reply, deps.publicUrl(), entered.token);
    return { reopened: entered.reopened };
  },
});

export const CODE_ROUTES = [postCode, postCodeVerify];
