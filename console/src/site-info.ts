import type { About } from '../../server/src/site/about.ts';
import { type Loaded, useLoad } from './load.ts';

/** What this installation offers: its prices, its ways to sign in. */
export function useSiteInfo(): Loaded<About> {
  return useLoad('/console/api/site');
}
