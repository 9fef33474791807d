import type { BrandDeps } from '../brand/brand.ts';
import { type CatalogDeps, offeredModels } from '../catalog/catalog.ts';
import { priceAfter, ratesAt } from '../catalog/price.ts';
import { passkeyHost } from '../sign-in/check-passkey.ts';
import type { Issuer, IssuerName } from '../sign-in/issuers/issuer.ts';
import { readCookie, SESSION_COOKIE } from './auth/cookies.ts';
import { onSale } from './billing/credits.ts';
import type { BillingSiteDeps } from './billing/stripe-work.ts';
import { type ResultOf, siteRoute } from './route.ts';

export type About = ResultOf<typeof getAbout>;

export interface AboutDeps extends BillingSiteDeps, BrandDeps, CatalogDeps {
  publicUrl(): string;
  issuers: ReadonlyMap<IssuerName, Issuer>;
  signupCredits: number;
  isMailLogged: boolean;
  reportDays: number;
}

/** The offered models as the pages show them. */
export function shownModels({ catalog, now }: CatalogDeps) {
  const [current, at] = [catalog.current(), new Date(now())];
  return {
    // Credits per second by model and resolution; `referenced`: with reference videos.
    prices: ratesAt(current, at),
    models: offeredModels(current).map((model) => {
      const { name, title, modes, durations, aspectRatios, seed } = model;
      // null: no price is announced.
      const next_price = priceAfter(model, at) ?? null;
      return { name, title, modes, durations, aspect_ratios: aspectRatios, seed, next_price };
    }),
  };
}

export const getAbout = siteRoute('GET /console/api/site', {
  access: 'public',
  handle: async (deps: AboutDeps, { request }) => {
    const publicUrl = deps.publicUrl();
    return {
      name: deps.brand.current().name,
      /** Whether the browser sent a session cookie; the session may have ended. */
      has_session: readCookie(request, publicUrl, SESSION_COOKIE) !== undefined,
      api_url: `${publicUrl}/api/v1`,
      ...shownModels(deps),
      sign_in: {
        passkeys: passkeyHost(publicUrl) !== undefined,
        github: deps.issuers.has('github'),
        google: deps.issuers.has('google'),
        oidc: deps.issuers.has('oidc'),
      },
      billing: deps.billing !== undefined,
      ...(await onSale(deps)),
      /** Promotional credits for a new account. */
      signup_credits: deps.signupCredits,
      /** Whether codes go to the service's log instead of being mailed. */
      mail_is_logged: deps.isMailLogged,
      /** How many days the details that reporters give are kept. */
      report_days: deps.reportDays,
    };
  },
});
