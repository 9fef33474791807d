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
    <Load from={from} skeleton={<Rates models={UNKNOWN} rates={{}} />}>
      {({ prices, models }) => <Rates models={models} rates={prices[kind]} />}
    </Load>
  );
}

type Model = Pick<About['models'][number], 'name' | 'title'>;

/** Placeholder rows of the final height. */
const UNKNOWN: Model[] = [' ', '  ', '   '].map((name) => ({ name, title: name }));

interface RatesProps {
  models: Model[];
  rates: Record<string, Record<string, number | undefined>>;
}

function Rates({ models, rates: all }: RatesProps) {
  const resolutions = [...new Set(models.flatMap(({ name }) => Object.keys(all[name] ?? {})))];
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
          {models.map(({ name, title }) => (
            <tr key={name} class="border-t border-line">
              <th scope="row" class="py-3.5 text-left font-medium [overflow-wrap:anywhere]">
                {title.trim() || <span class="blank inline-block w-28">&nbsp;</span>}
                {title !== name && <span class="figures block text-sm text-dim">{name}</span>}
              </th>
              {resolutions.map((resolution) => (
                <td key={resolution} class="figures py-3.5 pl-2 text-right text-base sm:text-xl">
                  {all[name]?.[resolution] ?? <span class="text-dim">–</span>}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
