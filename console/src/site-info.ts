import { type Loaded, useLoad } from './load.ts';

/** Credits per second by model and resolution. */
type Rates = Record<string, Partial<Record<string, number>>>;

/** The response of GET /console/api/site, as far as pages need it. */
export interface SiteInfo {
  /** Where the public API is, without a slash at its end. */
  api_url: string;
  prices: { version: number; standard: Rates; referenced: Rates };
  sign_in: { passkeys: boolean; github: boolean; google: boolean; oidc: boolean | string };
  billing: boolean;
  /** Promotional credits of a new account, for the website only; 0: none. */
  signup_credits: number;
  /** Whether mail is written to the service's log, because there is no mail server. */
  mail_is_logged: boolean;
}

/** What this installation offers: its prices, its ways to sign in. */
export function useSiteInfo(): Loaded<SiteInfo> {
  return useLoad<SiteInfo>('/console/api/site');
}
