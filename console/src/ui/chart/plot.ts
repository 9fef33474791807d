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
    scales: {
      x: { range: (_chart, min, max) => besideBars({ data, kind }, [min, max]) },
      y: { range: (_chart, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    axes: [
      { ...axis, grid: { show: false }, values: labels(kind) },
      { ...axis, size: 56, ...(kind === 'bars' && { incrs: WHOLE.flat() }) },
    ],
    ...(kind === 'bars' && {
      tzDate: (at: number) => uPlot.tzDate(new Date(at * 1000), 'Etc/UTC'),
    }),
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

const DAY_SECONDS = 86_400;

/** Labels of the times: days are those of UTC, as the API counts them; hours are the reader's. */
function labels(kind: Settings['kind']): uPlot.Axis.DynamicValues {
  const utc = kind === 'bars' ? ({ timeZone: 'UTC' } as const) : {};
  const days = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', ...utc });
  const hours = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', ...utc });
  return (_chart, splits, _axis, _space, increment) =>
    splits.map((at) => (increment < DAY_SECONDS ? hours : days).format(at * 1000));
}

/** Between the lines behind bars, which count whole things. */
const WHOLE = Array.from({ length: 10 }, (_, zeros) => [1, 2, 5].map((step) => step * 10 ** zeros));

/** Room for half of the first bar and half of the last one. */
function besideBars(
  { data, kind }: Pick<Settings, 'data' | 'kind'>,
  [min, max]: [number, number],
): [number, number] {
  const [first = 0, second = first + DAY_SECONDS] = data.times;
  const half = kind === 'bars' ? (second - first) / 2 : 0;
  return [min - half, max + half];
}

/** Reads tokens as colours that a canvas understands. */
function colours(element: HTMLElement): (token: string) => string {
  const found = new Map<string, string>();
  for (const token of [...COLOURS, '--color-dim', '--color-line']) {
    const probe = document.createElement('span');
    probe.style.color = `var(${token})`;
    element.append(probe);
    found.set(token, getComputedStyle(probe).color);
    probe.remove();
  }
  return (token) => found.get(token) ?? 'currentColor';
}
