/** The paths of the pages, as the router reads them. console/src/routes.ts has the same ones. */
export const PAGE_PATHS = [
  '/',
  '/pricing',
  '/sign-in',
  '/playground',
  '/videos',
  '/videos/:id',
  '/usage',
  '/keys',
  '/webhooks',
  '/webhooks/:id',
  '/credits',
  '/settings',
  '/operator',
  '/operator/*',
];

const FILES = 'packages|assets|openapi\\.json';
/** Paths below these are no pages: what is unknown there gets the error envelope. */
const APIS = new RegExp(
  `^/(api|auth|console|callbacks|media|webhooks|docs|mcp|healthz|readyz|${FILES})(/|$)`,
);

/** Whether an unknown path gets the page for 404: a browser opened it. */
export function isPageNavigation({
  method,
  url,
  accept = '',
}: {
  method: string;
  url: string;
  accept?: string | undefined;
}): boolean {
  const isRead = method === 'GET' || method === 'HEAD';
  const [path = ''] = url.split('?');
  return isRead && accept.includes('text/html') && !APIS.test(path);
}
