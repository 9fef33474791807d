import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { LocationProvider, lazy, Route, Router, useLocation } from 'preact-iso';
import { NotFound } from './pages/not-found/not-found.tsx';
import { type PageRoute, ROUTES } from './routes.ts';
import { SessionProvider, useSession } from './session.tsx';
import { Shell } from './shell/shell.tsx';
import { CouldNotLoad, Waiting } from './shell/waiting.tsx';
import { Page } from './ui/page.tsx';
import { ErrorState } from './ui/states.tsx';

const PAGES = ROUTES.map((route) => ({ path: route.path, component: pageOf(route) }));

/** The page's component, which is loaded at its first use, and checks who may see it. */
function pageOf({ access, load }: PageRoute): FunctionComponent {
  const LazyPage = lazy(() => load().catch(() => ({ default: CouldNotLoad })));
  if (access === 'public') return LazyPage;
  return function Guarded() {
    const { state, refresh } = useSession();
    const { route, url } = useLocation();
    useEffect(() => {
      if (state.kind !== 'out') return;
      const why = state.hasEnded ? 'ended=yes&' : '';
      route(`/sign-in?${why}next=${encodeURIComponent(url)}`, true);
    }, [state.kind]);
    if (state.kind === 'unknown') {
      return (
        <Page title="Your account can’t be read">
          <ErrorState error={state.error} retry={() => void refresh()} />
        </Page>
      );
    }
    if (state.kind !== 'in') return <Waiting />;
    if (access === 'operator' && !state.me.is_operator) return <NotFound />;
    return <LazyPage key={state.me.mode} />;
  };
}

/** Tells the shell that another page is shown, so that it moves the focus to its title. */
function Pages({ onShown }: { onShown: () => void }) {
  const { path } = useLocation();
  if (!isDecodable(path)) return <NotFound />;
  return (
    <Router onRouteChange={onShown}>
      {PAGES.map((page) => (
        <Route key={page.path} {...page} />
      ))}
      <Route default component={NotFound} />
    </Router>
  );
}

/** Whether its percent signs can be decoded, which the router does. */
function isDecodable(path: string): boolean {
  try {
    return decodeURIComponent(path) !== '';
  } catch {
    return false;
  }
}

/** Links that the router follows; the browser follows the others: downloads, other sign-ins. */
const PAGES_ONLY = /^\/(?!auth\/|console\/|docs|media\/|openapi\.json)/;

export function App() {
  const [shown, setShown] = useState(0);
  return (
    <LocationProvider scope={PAGES_ONLY}>
      <SessionProvider>
        <Shell shown={shown}>
          <Pages onShown={() => setShown((count) => count + 1)} />
        </Shell>
      </SessionProvider>
    </LocationProvider>
  );
}
