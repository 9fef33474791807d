import type { FunctionComponent } from 'preact';

type PageModule = Promise<{ default: FunctionComponent }>;

export interface PageRoute {
  /** In preact-iso's syntax; server/src/site/pages/pages.ts must have the same paths. */
  path: string;
  /** `operator`: everyone else gets "not found". */
  access: 'public' | 'session' | 'operator';
  load: () => PageModule;
}

/** Every page. Each is a chunk of its own, loaded when it is opened. */
export const ROUTES: PageRoute[] = [
  { path: '/', access: 'public', load: () => import('./pages/landing/landing.tsx') },
  { path: '/pricing', access: 'public', load: () => import('./pages/pricing/pricing.tsx') },
  { path: '/status', access: 'public', load: () => import('./pages/status/status.tsx') },
  { path: '/verify', access: 'public', load: () => import('./pages/verify/verify.tsx') },
  { path: '/report', access: 'public', load: () => import('./pages/report/report.tsx') },
  { path: '/sign-in', access: 'public', load: () => import('./pages/sign-in/sign-in.tsx') },
  {
    path: '/playground',
    access: 'session',
    load: () => import('./pages/playground/playground.tsx'),
  },
  { path: '/videos', access: 'session', load: () => import('./pages/videos/videos.tsx') },
  { path: '/videos/:id', access: 'session', load: () => import('./pages/video/video.tsx') },
  { path: '/usage', access: 'session', load: () => import('./pages/usage/usage.tsx') },
  { path: '/keys', access: 'session', load: () => import('./pages/keys/keys.tsx') },
  { path: '/webhooks', access: 'session', load: () => import('./pages/webhooks/webhooks.tsx') },
  { path: '/webhooks/:id', access: 'session', load: () => import('./pages/webhooks/endpoint.tsx') },
  { path: '/credits', access: 'session', load: () => import('./pages/credits/credits.tsx') },
  { path: '/settings', access: 'session', load: () => import('./pages/settings/settings.tsx') },
  { path: '/operator/*', access: 'operator', load: () => import('./pages/operator/operator.tsx') },
  { path: '/operator', access: 'operator', load: () => import('./pages/operator/operator.tsx') },
];
