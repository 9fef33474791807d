import type { About } from '../../../../server/src/site/about.ts';
import type { Loaded } from '../../load.ts';
import { Load } from '../../ui/states.tsx';

/** Credits per second, by model and resolution; a dash where a resolution is not offered. */
export function RateTable({
  from,
  kind,
}: {
  from: Loaded<About>;
  kind: 'standard' | 'referenced';
}) {
  return (
    <Load from={from} skeleton={<Rates rates={UNKNOWN} />}>
      {({ prices }) => <Rates rates={prices[kind]} />}
    </Load>
  );
}

/** Placeholder rows of the final height. */
const UNKNOWN: About['prices']['standard'] = { ' ': {}, '  ': {}, '   ': {} };

function Rates({ rates: all }: { rates: About['prices']['standard'] }) {
  const resolutions = [...new Set(Object.values(all).flatMap(Object.keys))];
  return (
    <div class="overflow-x-auto">
      <table class="w-full border-collapse">
        <caption class="sr-only">Credits per second of video</caption>
        <thead>
          <tr>
            <th scope="col" class="pb-2.5 text-left text-sm font-medium text-dim">
              Model
            </th>
            {resolutions.map((resolution) => (
              <th
                key={resolution}
                scope="col"
                class="figures pb-2.5 pl-2 text-right text-sm font-medium text-dim"
              >
                {resolution}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {Object.entries(all).map(([model, rates]) => (
            <tr key={model} class="border-t border-line">
              <th scope="row" class="py-3.5 text-left font-medium">
                {model.trim() || <span class="blank inline-block w-28">&nbsp;</span>}
              </th>
              {resolutions.map((resolution) => (
                <td key={resolution} class="figures py-3.5 pl-2 text-right text-base sm:text-xl">
                  {rates[resolution] ?? <span class="text-dim">–</span>}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
