import { Type } from 'typebox';
import type { SendMail } from '../../mail/mailer.ts';
import { challengeOptions } from '../../sign-in/check-passkey.ts';
import {
  ACTS,
  type Act,
  proveByCode,
  proveByPasskey,
  sendProofCode,
} from '../../sign-in/proofs.ts';
import { type PageDeps, siteRoute } from '../route.ts';
import { placeOf } from '../tell-owner.ts';
import { ResponseSchema } from './passkeys.ts';

interface ProofDeps extends PageDeps {
  sendMail: SendMail;
}

const ActSchema = Type.Unsafe<Act>(Type.Union(Object.keys(ACTS).map((act) => Type.Literal(act))));

export const PROOF_ROUTES = [
  siteRoute('POST /auth/proof/code', {
    rate: { max: 20, seconds: 600 },
    body: Type.Object({ act: ActSchema }),
    handle: async (deps: ProofDeps, { body, request, session }) => {
      await sendProofCode(deps, session, { act: body.act, place: placeOf(request) });
      return {};
    },
  }),
  siteRoute('POST /auth/proof/code/verify', {
    rate: { max: 30, seconds: 600 },
    body: Type.Object({ code: Type.String({ pattern: '^\\d{8}$' }) }),
    handle: async ({ db }: ProofDeps, { body, session }) => {
      await proveByCode(db, session, body.code);
      return {};
    },
  }),
  siteRoute('POST /auth/proof/passkey/options', {
    handle: ({ db, publicUrl }: ProofDeps, { session }) =>
      challengeOptions({ db, publicUrl: publicUrl() }, session),
  }),
  siteRoute('POST /auth/proof/passkey', {
    rate: { max: 30, seconds: 600 },
    body: ResponseSchema,
    handle: async ({ db, publicUrl }: ProofDeps, { body, session }) => {
      await proveByPasskey({ db, publicUrl: publicUrl() }, session, body);
      return {};
    },
  }),
];
