// The room site/: the routes of the website under /console/api and /auth, behind guard.ts, and its
// built pages (docs/ARCHITECTURE.md, "Walk 3").

import type { FastifyInstance } from 'fastify';
import type { BrandDeps } from '../brand/brand.ts';
import { acceptJsonOnly } from '../requests/bodies.ts';
import type { EndDeps } from '../requests/end-task.ts';
import { acceptStreams } from '../requests/receive-upload.ts';
import { type AboutDeps, getAbout } from './about.ts';
import { postDelete } from './account/delete.ts';
import { EXPORT_ROUTES } from './account/export.ts';
import { getMe } from './account/me.ts';
import { SESSION_ROUTES } from './account/sessions.ts';
import { CODE_ROUTES, type CodeDeps } from './auth/code.ts';
import { ISSUER_ROUTES, type IssuerRouteDeps } from './auth/issuer.ts';
import { PASSKEY_ROUTES } from './auth/passkeys.ts';
import { PROOF_ROUTES } from './auth/proof.ts';
import { CREDIT_ROUTES } from './billing/credits.ts';
import { ORDER_ROUTES } from './billing/orders.ts';
import { STATEMENT_ROUTES } from './billing/statement.ts';
import { stripeWebhook } from './billing/stripe-webhook.ts';
import type { BillingSiteDeps } from './billing/stripe-work.ts';
import { SUBSCRIPTION_ROUTES } from './billing/subscription.ts';
import { type GuardDeps, guard } from './guard.ts';
import { KEY_ROUTES } from './keys/keys.ts';
import type { OperatorDeps } from './operator/operator-route.ts';
import { OPERATOR_ROUTES } from './operator/operator-routes.ts';
import { visitSetUp } from './operator/set-up-visit.ts';
import type { VerbReads } from './operator/verb-routes.ts';
import { GENERATION_ROUTES, type GenerationDeps } from './playground/generations.ts';
import { PRESET_ROUTES } from './playground/presets.ts';
import { PRICE_ROUTES } from './playground/prices.ts';
import { createSiteUpload, type SiteUploadDeps, UPLOAD_ROUTES } from './playground/uploads.ts';
import { postReport } from './report.ts';
import type { RouteShape, SiteRoute } from './route.ts';
import { SHARE_ROUTES, type ShareDeps } from './shares.ts';
import { getStatus, type StatusDeps } from './status.ts';
import { DOWNLOAD_ROUTES } from './tasks/downloads.ts';
import { GALLERY_ROUTES } from './tasks/gallery.ts';
import { TASK_ROUTES } from './tasks/shown-task.ts';
import { USAGE_ROUTES } from './tasks/usage.ts';
import { compareVideo, verifyDigest } from './verify.ts';
import { WEBHOOK_ROUTES } from './webhooks/webhooks-site.ts';

export interface SiteDeps
  extends GuardDeps,
    AboutDeps,
    BrandDeps,
    StatusDeps,
    ShareDeps,
    CodeDeps,
    IssuerRouteDeps,
    BillingSiteDeps,
    OperatorDeps,
    GenerationDeps,
    SiteUploadDeps,
    EndDeps {
  routing: StatusDeps['routing'] & GenerationDeps['routing'];
}

const ROUTES = [
  getAbout,
  getStatus,
  verifyDigest,
  postReport,
  getMe,
  postDelete,
  ...EXPORT_ROUTES,
  ...SESSION_ROUTES,
  ...PASSKEY_ROUTES,
  ...CODE_ROUTES,
  ...ISSUER_ROUTES,
  ...PROOF_ROUTES,
  ...KEY_ROUTES,
  ...GALLERY_ROUTES,
  ...DOWNLOAD_ROUTES,
  ...TASK_ROUTES,
  ...SHARE_ROUTES,
  ...USAGE_ROUTES,
  ...GENERATION_ROUTES,
  ...PRICE_ROUTES,
  ...PRESET_ROUTES,
  ...UPLOAD_ROUTES,
  ...CREDIT_ROUTES,
  ...ORDER_ROUTES,
  ...SUBSCRIPTION_ROUTES,
  ...STATEMENT_ROUTES,
  ...WEBHOOK_ROUTES,
  ...OPERATOR_ROUTES,
  visitSetUp,
];

type Shapes =
  | NonNullable<
      | (typeof ROUTES)[number]['shape']
      | (typeof createSiteUpload)['shape']
      | (typeof compareVideo)['shape']
    >
  | VerbReads;

/** The types of all routes by `METHOD /path`, for the pages. */
export type SiteApi = { [Shape in Shapes as Shape['name']]: Shape };

/**
 * The website's JSON API under `/console/api` and `/auth`, and `/status.json`, which openapi.json
 * leaves out. app.ts adds the request id, `no-store` and the error envelope. Stripe's webhook is
 * registered on `app` itself, which is not guarded: it has no session and verifies signatures.
 */
export async function site(app: FastifyInstance, deps: SiteDeps): Promise<void> {
  await app.register((guarded, _options, ready) => {
    guard(guarded, deps);
    guarded.register((json, _options, done) => {
      acceptJsonOnly(json);
      for (const route of ROUTES as SiteRoute<SiteDeps, RouteShape>[]) route.serve(json, deps);
      done();
    });
    guarded.register((uploads, _options, done) => {
      acceptStreams(uploads);
      createSiteUpload.serve(uploads, deps);
      compareVideo.serve(uploads, deps);
      done();
    });
    ready();
  });
  if (deps.billing) await app.register(stripeWebhook, deps.billing);
}
