import type { FastifyInstance } from 'fastify';
import { acceptJsonOnly } from '../requests/bodies.ts';
import type { EndDeps } from '../requests/end-task.ts';
import { type AboutDeps, getAbout } from './about.ts';
import { postDelete } from './account/delete.ts';
import { getMe } from './account/me.ts';
import { deletePasskey, getPasskeys, patchPasskey } from './account/passkeys.ts';
import { deleteSession, getSessions } from './account/sessions.ts';
import { type CodeDeps, postCode, postCodeVerify } from './auth/code.ts';
import { getReturn, getStart, type IdentityDeps } from './auth/issuer.ts';
import {
  type PasskeyDeps,
  postPasskey,
  postPasskeyOptions,
  postPasskeys,
  postSignInOptions,
} from './auth/passkey.ts';
import {
  postProofCode,
  postProofCodeVerify,
  postProofOptions,
  postProofPasskey,
} from './auth/proof.ts';
import { signOut } from './auth/sign-out.ts';
import { BILLING_ROUTES } from './billing/billing-routes.ts';
import { stripeWebhook } from './billing/stripe-webhook.ts';
import type { BillingSiteDeps } from './billing/stripe-work.ts';
import { type GuardDeps, guard } from './guard.ts';
import {
  createOwnKey,
  listOwnKeys,
  refillOwnTestCredits,
  requestsOfOwnKey,
  revokeOwnKey,
  updateOwnKey,
} from './keys/keys.ts';
import type { OperatorDeps } from './operator/operator-route.ts';
import { OPERATOR_ROUTES } from './operator/operator-routes.ts';
import {
  createTestGeneration,
  createWebGeneration,
  type GenerationDeps,
  getTaskOfKey,
} from './playground/generations.ts';
import { getPrices, getQuote } from './playground/prices.ts';
import {
  createSiteUpload,
  deleteOwnUpload,
  getUpload,
  getUploadFile,
  type SiteUploadDeps,
} from './playground/uploads.ts';
import type { RouteShape, SiteRoute } from './route.ts';
import { cancelTaskOfAccount, deleteOutputOfAccount } from './tasks/end-task.ts';
import { listTasksOfAccount } from './tasks/list-tasks.ts';
import { downloadUsage, readUsage } from './tasks/read-usage.ts';
import { showPoster } from './tasks/show-poster.ts';
import { showTaskOfAccount } from './tasks/show-task.ts';
import { readTaskFilters } from './tasks/task-filters.ts';
import { WEBHOOK_ROUTES } from './webhooks/webhooks-site.ts';

/** What the routes of the website need. */
export interface SiteDeps
  extends GuardDeps,
    AboutDeps,
    CodeDeps,
    PasskeyDeps,
    IdentityDeps,
    BillingSiteDeps,
    OperatorDeps,
    GenerationDeps,
    SiteUploadDeps,
    EndDeps {}

/** All routes that take and send JSON. */
const ROUTES = [
  getAbout,
  getMe,
  getSessions,
  deleteSession,
  getPasskeys,
  patchPasskey,
  deletePasskey,
  postDelete,
  postCode,
  postCodeVerify,
  postSignInOptions,
  postPasskey,
  postPasskeyOptions,
  postPasskeys,
  postProofCode,
  postProofCodeVerify,
  postProofOptions,
  postProofPasskey,
  getStart,
  getReturn,
  signOut,
  listOwnKeys,
  createOwnKey,
  updateOwnKey,
  revokeOwnKey,
  refillOwnTestCredits,
  requestsOfOwnKey,
  listTasksOfAccount,
  readTaskFilters,
  showTaskOfAccount,
  cancelTaskOfAccount,
  deleteOutputOfAccount,
  showPoster,
  readUsage,
  downloadUsage,
  createWebGeneration,
  createTestGeneration,
  getTaskOfKey,
  getPrices,
  getQuote,
  getUpload,
  getUploadFile,
  deleteOwnUpload,
  ...BILLING_ROUTES,
  ...WEBHOOK_ROUTES,
  ...OPERATOR_ROUTES,
];

type Shapes = NonNullable<(typeof ROUTES)[number]['shape'] | (typeof createSiteUpload)['shape']>;

/** All routes for the pages: `METHOD /path` with what each takes and gives. */
export type SiteApi = { [Shape in Shapes as Shape['name']]: Shape };

/**
 * The website: the JSON API of its pages under `/console/api` and `/auth`. Nothing of it is in
 * openapi.json. app.ts adds the request id, `no-store` and the error envelope. A scope that is
 * registered on `app` itself has no guard.
 */
export async function site(app: FastifyInstance, deps: SiteDeps): Promise<void> {
  await app.register(guardedScope, { deps });
  if (deps.billing) await app.register(stripeWebhook, deps.billing);
}

interface Scoped {
  deps: SiteDeps;
}

/** The scopes in it differ in how they read bodies. */
function guardedScope(guarded: FastifyInstance, { deps }: Scoped, done: () => void): void {
  guard(guarded, deps);
  guarded.register(jsonScope, { deps });
  guarded.register(uploadScope, { deps });
  done();
}

function jsonScope(json: FastifyInstance, { deps }: Scoped, done: () => void): void {
  acceptJsonOnly(json);
  for (const route of ROUTES as SiteRoute<SiteDeps, RouteShape>[]) route.serve(json, deps);
  done();
}

function uploadScope(uploads: FastifyInstance, { deps }: Scoped, done: () => void): void {
  createSiteUpload.serve(uploads, deps);
  done();
}
