import './locale.ts';
import 'uplot/dist/uPlot.min.css';
import uPlot from 'uplot';
import { formatNumber } from '../format.tsx';

export interface ChartData {
  /** Seconds since 1970, ascending. */
  times: number[];
  series: { label: string; values: (number | null)[]; isBad?: boolean }[];
}

const COLOURS = ['--color-tungsten', '--color-ink', '--color-good', '--color-edge'];

interface Settings {
  data: ChartData;
  kind: 'line' | 'bars';
  height: number;
}

/** Redraws the chart when its width or the theme changes. @returns a function that removes it */
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
  const chosenTheme = new MutationObserver(redraw);
  chosenTheme.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  const systemTheme = matchMedia('(prefers-color-scheme: dark)');
  systemTheme.addEventListener('change', redraw);
  return () => {
    resized.disconnect();
    chosenTheme.disconnect();
    systemTheme.removeEventListener('change', redraw);
    chart.destroy();
  };
}

function draw(element: HTMLElement, { data, kind, height }: Settings): uPlot {
  const colour = (token: string) => colourOf(element, token);
  const time = timeFormat(kind, kind === 'bars' ? 'day' : 'minute');
  const times = data.times.map((at) => time.format(at * 1000));
  const newest = data.times.length - 1; // shown in the legend while nothing is hovered
  const bars = uPlot.paths.bars?.({ size: [0.7, 36] });
  const options: uPlot.Options = {
    width: element.clientWidth,
    height,
    legend: { show: data.series.length > 1 },
    cursor: { y: false, points: { size: 6 } },
    scales: {
      x: { range: (_chart, min, max) => withBarMargins({ data, kind }, [min, max]) },
      y: { range: (_chart, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    axes: axesOf(kind, colour),
    ...(kind === 'bars' && {
      tzDate: (at: number) => uPlot.tzDate(new Date(at * 1000), 'Etc/UTC'),
    }),
    series: [
      { label: 'Time', value: (_chart, _at, _series, index) => times[index ?? newest] ?? '' },
      ...data.series.map(({ label, values, isBad }, index) => ({
        label,
        value: (_chart: uPlot, _value: number, _series: number, at: number | null) =>
          valueText(values[at ?? newest]),
        stroke: colour(isBad ? '--color-bad' : (COLOURS[index] ?? '--color-ink')),
        width: 2,
        points: kind === 'bars' ? { show: false } : { size: 5, filter: () => isolated(values) },
        ...(kind === 'bars' && bars
          ? { paths: bars, fill: colour(COLOURS[index] ?? '--color-ink') }
          : {}),
      })),
    ],
  };
  return new uPlot(options, [data.times, ...data.series.map(({ values }) => values)], element);
}

function axesOf(kind: Settings['kind'], colour: (token: string) => string): uPlot.Axis[] {
  const axis = {
    stroke: colour('--color-dim'),
    font: '12px "JetBrains Mono Variable", monospace',
    grid: { stroke: colour('--color-line'), width: 1 },
    ticks: { stroke: colour('--color-line'), width: 1, size: 4 },
  };
  return [
    {
      ...axis,
      size: 34,
      grid: { show: false },
      values: labels(kind),
      incrs: BETWEEN_LABELS[kind],
    },
    {
      ...axis,
      size: 56,
      values: (_, splits) => splits.map(formatNumber),
      ...(kind === 'bars' && { incrs: WHOLE.flat() }),
    },
  ];
}

/** Values without neighbours get a point, since no line would show them. */
function isolated(values: (number | null)[]): number[] {
  const isThere = (at: number) => typeof values[at] === 'number';
  return [...values.keys()].filter((at) => isThere(at) && !isThere(at - 1) && !isThere(at + 1));
}

const MINUTE_SECONDS = 60;
const DAY_SECONDS = 86_400;

/** The allowed seconds between labels: closer ones would repeat. */
const BETWEEN_LABELS = {
  line: [1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 1440].map((count) => count * MINUTE_SECONDS),
  bars: [1, 2, 3, 4, 5, 7, 10, 14, 28, 56, 112, 365].map((count) => count * DAY_SECONDS),
};

/** Bars are days in UTC, as the API counts them; lines use the user's time zone. */
function timeFormat(kind: Settings['kind'], unit: 'day' | 'minute'): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-GB', {
    ...(unit === 'day'
      ? { day: 'numeric', month: 'short' }
      : { hour: '2-digit', minute: '2-digit' }),
    ...(kind === 'bars' && { timeZone: 'UTC' }),
  });
}

function labels(kind: Settings['kind']): uPlot.Axis.DynamicValues {
  const [days, minutes] = [timeFormat(kind, 'day'), timeFormat(kind, 'minute')];
  return (_chart, splits, _axis, _space, increment) =>
    splits.map((at) => (increment < DAY_SECONDS ? minutes : days).format(at * 1000));
}

function valueText(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : formatNumber(Math.round(value * 10) / 10);
}

/** Grid steps for bars, which count whole things. */
const WHOLE = Array.from({ length: 10 }, (_, zeros) => [1, 2, 5].map((step) => step * 10 ** zeros));

function withBarMargins(
  { data, kind }: Pick<Settings, 'data' | 'kind'>,
  [min, max]: [number, number],
): [number, number] {
  const [first = 0, second = first + DAY_SECONDS] = data.times;
  const half = kind === 'bars' ? (second - first) / 2 : 0;
  return [min - half, max + half];
}

function colourOf(element: HTMLElement, token: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${token})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
