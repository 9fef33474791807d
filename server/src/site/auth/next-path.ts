/**
 * The page after the sign-in: a path of this website, whatever the request says. The text is read
 * as a browser would read it, so that no other site can be meant.
 */
export function nextPath(asked: string | undefined): string {
  const base = 'http://own.invalid';
  const url = asked?.startsWith('/') ? URL.parse(asked, base) : null;
  if (url?.origin !== base || url.username !== '') return '/';
  const path = url.pathname + url.search + url.hash;
  // What is left of /.//other.example would be another site's address.
  return path.startsWith('//') || /^\/auth(\/|$)/.test(path) ? '/' : path;
}
