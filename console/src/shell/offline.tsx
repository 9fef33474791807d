import { useEffect, useState } from 'preact/hooks';

/** A line at the top of the window while the browser has no connection. */
export function OfflineBanner() {
  const [isOnline, setOnline] = useState(navigator.onLine);
  useEffect(() => {
    const update = () => setOnline(navigator.onLine);
    addEventListener('online', update);
    addEventListener('offline', update);
    return () => {
      removeEventListener('online', update);
      removeEventListener('offline', update);
    };
  }, []);
  return (
    <div role="status">
      {!isOnline && (
        <p class="bg-tungsten px-4 py-2 text-center text-sm font-medium text-on-tungsten">
          You are offline. This page may be out of date, and nothing can be sent.
        </p>
      )}
    </div>
  );
}
