import { useEffect, useRef, useState } from 'preact/hooks';
import type { ChartData } from './plot.ts';

interface ChartProps {
  data: ChartData;
  label: string;
  kind?: 'line' | 'bars';
  /** In pixels. */
  height?: number;
}

/** To screen readers it is an image: put the numbers in a table beside it. */
export function Chart({ data, label, kind = 'line', height = 200 }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    let remove = () => {};
    let isGone = false;
    import('./plot.ts').then(
      ({ plot }) => {
        if (!isGone && place.current) remove = plot(place.current, { data, kind, height });
      },
      () => setFailed(true),
    );
    return () => {
      isGone = true;
      remove();
    };
  }, [data, kind, height]);
  return (
    <div
      ref={place}
      role="img"
      aria-label={label}
      style={{ minHeight: `${height}px` }}
      class="chart w-full min-w-0 overflow-x-clip"
    >
      {failed && <p class="text-dim">The chart could not be loaded.</p>}
    </div>
  );
}
