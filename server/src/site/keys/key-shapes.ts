/** An API key as its owner sees it, without its secret. Times are ISO 8601, UTC. */
export interface ApiKey {
  id: string;
  /** A test key spends test credits, and no real provider is called for it. */
  mode: 'live' | 'test';
  name: string | null;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  /** Credits of a calendar month (UTC) that its creates may spend; null: any. */
  monthly_cap: number | null;
  /** What its tasks of this month cost, without those refunded. */
  spent_this_month: number;
  /** Of the last request, known a minute later. */
  last_used_at: string | null;
  /** The network of that request, such as 203.0.113.0/24. */
  last_used_network: string | null;
  /** Its requests on each of the last days, the oldest first; the last one is today (UTC). */
  requests: number[];
}

/** The response to a create: the only one with the secret. */
export interface NewApiKey {
  key: ApiKey;
  secret: string;
}

export interface ApiKeyList {
  items: ApiKey[];
  next: null;
  /** How many valid keys an account may have. */
  max_keys: number;
  /** What is available of the test credits; null: the account never had a test key. */
  test_credits: number | null;
}

/** Of one key on each of the last days (UTC), the oldest first. */
export interface KeyRequests {
  days: { day: string; requests: number }[];
}
