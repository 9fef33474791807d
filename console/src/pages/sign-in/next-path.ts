const FIRST = '/playground';

/**
 * The page to go to after signing in. Only a path of this site: an address from a link that
 * somebody has sent must not lead elsewhere.
 */
export function nextPath(given: string | undefined): string {
  if (given === undefined) return FIRST;
  const url = URL.parse(given, location.origin);
  const isOurs = url?.origin === location.origin && given.startsWith('/');
  // What is left of /.//other.example would be another site's address.
  if (!url || !isOurs || url.pathname.startsWith('//')) return FIRST;
  if (url.pathname === '/sign-in') return FIRST;
  return `${url.pathname}${url.search}`;
}

/** Goes to the page; the router does not have those of the documentation. */
export function goTo(next: string, route: (path: string, replace: boolean) => void): void {
  if (next.startsWith('/docs')) location.replace(next);
  else route(next, true);
}
