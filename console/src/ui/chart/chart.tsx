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
  const [plot, setPlot] = useState<typeof import('./plot.ts').plot>();
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    import('./plot.ts').then(
      (loaded) => setPlot(() => loaded.plot),
      () => setFailed(true),
    );
  }, []);
  useEffect(() => {
    if (place.current) return plot?.(place.current, { data, kind, height });
  }, [plot, data, kind, height]);
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
