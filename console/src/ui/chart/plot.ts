import 'uplot/dist/uPlot.min.css';
import uPlot from 'uplot';

/** Values over time. */
export interface ChartData {
  /** Seconds since 1970, ascending. */
  times: number[];
  series: { label: string; values: (number | null)[] }[];
}

/** The colours of the series, in this order; names of the design's tokens. */
const COLOURS = ['--color-tungsten', '--color-ink', '--color-good', '--color-bad', '--color-edge'];

interface Settings {
  data: ChartData;
  kind: 'line' | 'bars';
  height: number;
}

/**
 * Draws a chart into an element, again when its width or the theme changes.
 * @returns a function that removes it
 */
export function plot(element: HTMLElement, settings: Settings): () => void {
  let chart = draw(element, settings);
  const redraw = () => {
    chart.destroy();
    chart = draw(element, settings);
  };
  const resized = new ResizeObserver(() => {
    if (element.clientWidth !== chart.width) {
      chart.setSize({ width: element.clientWidth, height: settings.height });
    }
  });
  resized.observe(element);
  const chosen = new MutationObserver(redraw);
  chosen.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  const system = matchMedia('(prefers-color-scheme: dark)');
  system.addEventListener('change', redraw);
  return () => {
    resized.disconnect();
    chosen.disconnect();
    system.removeEventListener('change', redraw);
    chart.destroy();
  };
}

function draw(element: HTMLElement, { data, kind, height }: Settings): uPlot {
  const colour = colours(element);
  const axis = {
    stroke: colour('--color-dim'),
    font: '12px "JetBrains Mono Variable", monospace',
    grid: { stroke: colour('--color-line'), width: 1 },
    ticks: { stroke: colour('--color-line'), width: 1, size: 4 },
  };
  const bars = uPlot.paths.bars?.({ size: [0.7, 36] });
  const options: uPlot.Options = {
    ...{ width: element.clientWidth, height },
    legend: { show: data.series.length > 1 },
    cursor: { y: false, points: { size: 6 } },
    scales: { y: { range: (_chart, _min, max) => [0, max > 0 ? max * 1.08 : 1] } },
    axes: [
      { ...axis, grid: { show: false } },
      { ...axis, size: 56 },
    ],
    series: [
      {},
      ...data.series.map(({ label }, index) => ({
        label,
        stroke: colour(COLOURS[index % COLOURS.length] ?? '--color-ink'),
        width: 2,
        points: { show: false },
        ...(kind === 'bars' && bars
          ? { paths: bars, fill: colour(COLOURS[index % COLOURS.length] ?? '--color-ink') }
          : {}),
      })),
    ],
  };
  return new uPlot(options, [data.times, ...data.series.map(({ values }) => values)], element);
}

/** Reads tokens as colours that a canvas understands. */
function colours(element: HTMLElement): (token: string) => string {
  const probe = document.createElement('span');
  element.append(probe);
  const found = new Map<string, string>();
  for (const token of [...COLOURS, '--color-dim', '--color-line']) {
    probe.style.color = `var(${token})`;
    found.set(token, getComputedStyle(probe).color);
  }
  probe.remove();
  return (token) => found.get(token) ?? 'currentColor';
}
