import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { LocationProvider, lazy, Route, Router, useLocation } from 'preact-iso';
import { NotFound } from './pages/not-found/not-found.tsx';
import { ignoringErrors } from './personal.ts';
import { type PageRoute, ROUTES } from './routes.ts';
import { SessionProvider, useSession } from './session.tsx';
import { Shell } from './shell/shell.tsx';
import { Button } from './ui/button.tsx';
import { Page } from './ui/page.tsx';
import { ErrorState, Skeleton } from './ui/states.tsx';

const PAGES = ROUTES.map((route) => ({ path: route.path, component: pageOf(route) }));

function pageOf({ access, load }: PageRoute): FunctionComponent {
  const LazyPage = lazy(() => load().catch(() => ({ default: CouldNotLoad })));
  if (access === 'public') return LazyPage;
  return function Guarded() {
    const { state, refresh } = useSession();
    const { route, url } = useLocation();
    const [isFetched, setFetched] = useState(!(state.kind === 'loading' && state.wasIn));
    useEffect(() => {
      // Loads the page while the session is read, so that the first page needs no second wait.
      if (!isFetched) void LazyPage.preload().then(() => setFetched(true));
    }, []);
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
    if (state.kind !== 'in' || !isFetched) return LOADING;
    if (access === 'operator' && !state.me.is_operator) return <NotFound />;
    return <LazyPage key={state.me.mode} />;
  };
}

/** Tells the shell about navigations, after which the shell moves the focus to the title. */
function Pages({ onShown }: { onShown: () => void }) {
  const { path } = useLocation();
  // The router throws on a path that it can't decode.
  if (ignoringErrors(() => decodeURIComponent(path)) === undefined) return <NotFound />;
  return (
    <Router onRouteChange={onShown}>
      {PAGES.map((page) => (
        <Route key={page.path} {...page} />
      ))}
      <Route default component={NotFound} />
    </Router>
  );
}

/** Links that the router handles; the browser handles all others: downloads, other sign-ins. */
const PAGES_ONLY = /^\/(?!auth\/|console\/|docs|media\/|openapi\.json)/;

export function App() {
  const [navigationCount, setNavigationCount] = useState(0);
  return (
    <LocationProvider scope={PAGES_ONLY}>
      <SessionProvider>
        <Shell navigationCount={navigationCount}>
          <Pages onShown={() => setNavigationCount((count) => count + 1)} />
        </Shell>
      </SessionProvider>
    </LocationProvider>
  );
}

const LOADING = (
  <div class="mx-auto w-full max-w-[76rem] px-4 pt-14 pb-20 sm:px-8" aria-busy="true">
    <p class="sr-only">Loading</p>
    <div class="blank mb-10 h-11 w-72 max-w-full" />
    <Skeleton lines={4} />
  </div>
);

/** A page's code could not be loaded: the connection failed, or there is a newer release. */
function CouldNotLoad() {
  return (
    <Page
      title="This page could not be loaded"
      lead="The connection failed, or a newer version of the site was just published."
    >
      <div>
        <Button look="primary" icon="refresh" onClick={() => location.reload()}>
          Load it again
        </Button>
      </div>
    </Page>
  );
}
