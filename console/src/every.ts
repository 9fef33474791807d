import { useEffect, useRef } from 'preact/hooks';

/** Does work again and again while a component is there; not while the time is undefined. */
export function useEvery(ms: number | undefined, work: () => unknown): void {
  const latest = useRef(work);
  latest.current = work;
  useEffect(() => {
    if (ms === undefined) return;
    const timer = setInterval(() => void latest.current(), ms);
    return () => clearInterval(timer);
  }, [ms]);
}
