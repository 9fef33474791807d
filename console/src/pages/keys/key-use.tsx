import { useMemo } from 'preact/hooks';
import type { ApiKey, KeyRequests } from '../../../../server/src/site/keys/keys.ts';
import { useLoad } from '../../load.ts';
import { Chart } from '../../ui/chart/chart.tsx';
import { Dialog, openDialog } from '../../ui/dialog.tsx';
import { Credits, formatNumber } from '../../ui/format.tsx';
import { Load, Skeleton } from '../../ui/states.tsx';

export function CapUsed({ apiKey }: { apiKey: ApiKey }) {
  const { monthly_cap: cap, spent_this_month: spent } = apiKey;
  if (cap === null) {
    return (
      <div>
        <Credits value={spent} />
        <span class="block text-sm text-dim">no cap</span>
      </div>
    );
  }
  const share = cap === 0 ? 1 : Math.min(1, spent / cap);
  return (
    <div class="whitespace-nowrap">
      <Credits value={spent} /> <span class="text-sm text-dim">of</span> <Credits value={cap} />
      <span class="mt-1.5 block h-1.5 w-full bg-well outline outline-line" aria-hidden="true">
        <span
          class={`block h-full ${share >= 0.9 ? 'bg-bad' : 'bg-tungsten'}`}
          style={{ width: `${share * 100}%` }}
        />
      </span>
    </div>
  );
}

const BAR = { width: 2, gap: 1, height: 22 };

export function RequestBars({ apiKey }: { apiKey: ApiKey }) {
  const { requests } = apiKey;
  const total = requests.reduce((sum, count) => sum + count, 0);
  const most = Math.max(1, ...requests);
  const step = BAR.width + BAR.gap;
  return (
    <button
      type="button"
      onClick={() => openDialog(<RequestsByDay apiKey={apiKey} />)}
      class="inline-flex items-baseline gap-2.5 text-left hover:text-print"
      aria-label={`${formatNumber(total)} requests in 30 days with ${apiKey.name ?? apiKey.id}: show them by day`}
    >
      <svg width={requests.length * step} height={BAR.height} aria-hidden="true">
        {requests.map((count, day) => {
          const height = count === 0 ? 1 : Math.max(2, (count / most) * BAR.height);
          return (
            <rect
              key={day}
              x={day * step}
              y={BAR.height - height}
              width={BAR.width}
              height={height}
              class={count === 0 ? 'fill-line' : 'fill-tungsten'}
            />
          );
        })}
      </svg>
      <span class="figures text-sm">{formatNumber(total)}</span>
    </button>
  );
}

function RequestsByDay({ apiKey }: { apiKey: ApiKey }) {
  const loaded = useLoad('/console/api/keys/:id/requests', { params: { id: apiKey.id } });
  return (
    <Dialog title={`Requests with “${apiKey.name ?? apiKey.id}”`}>
      <Load from={loaded} skeleton={<Skeleton lines={8} />}>
        {(requests) => <Days {...requests} />}
      </Load>
      <p class="mt-4 text-sm text-dim">
        Per day (UTC), without requests that were refused with 401 or 429. A request appears within
        about a minute.
      </p>
    </Dialog>
  );
}

function Days({ days }: KeyRequests) {
  const data = useMemo(
    () => ({
      times: days.map(({ day }) => Date.parse(day) / 1000),
      series: [{ label: 'Requests', values: days.map(({ requests }) => requests) }],
    }),
    [days],
  );
  const total = days.reduce((sum, { requests }) => sum + requests, 0);
  const today = days.at(-1)?.requests ?? 0;
  const words = `${formatNumber(total)} in ${days.length} days, ${formatNumber(today)} today`;
  return (
    <>
      <p class="mb-3 text-dim">{words}</p>
      <Chart data={data} label={`Requests per day: ${words}`} kind="bars" height={180} />
    </>
  );
}
