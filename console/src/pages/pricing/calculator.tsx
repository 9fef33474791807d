import { useState } from 'preact/hooks';
import type { About } from '../../../../server/src/site/about.ts';
import { Range, Segments, Select } from '../../ui/form/controls.tsx';
import { Credits } from '../../ui/format.tsx';

/** The seconds that a video may have. */
const SECONDS = { min: 4, max: 15 };

const choicesOf = (values: string[]) => values.map((value) => ({ value, label: value }));

/** What one video costs, as its settings are changed. */
export function Calculator({ prices }: Pick<About, 'prices'>) {
  const [chosen, setModel] = useState('video-2.0-fast');
  const [wanted, setResolution] = useState('720p');
  const [seconds, setSeconds] = useState(5);
  const models = Object.keys(prices.standard);
  const model = models.includes(chosen) ? chosen : (models[0] ?? '');
  const rates = prices.standard[model] ?? {};
  const resolutions = Object.keys(rates);
  const resolution = resolutions.includes(wanted) ? wanted : (resolutions[0] ?? '');
  const rate = rates[resolution] ?? 0;
  return (
    <section aria-labelledby="calculator" class="self-start border border-edge bg-sheet p-6 sm:p-8">
      <h2 id="calculator" class="mb-6 text-heading">
        What one video costs
      </h2>
      <div class="grid gap-5">
        <Select label="Model" value={model} choices={choicesOf(models)} onChange={setModel} />
        <Segments
          label="Resolution"
          value={resolution}
          choices={choicesOf(resolutions)}
          onChange={setResolution}
        />
        <Range label="Length" unit=" s" value={seconds} {...SECONDS} onChange={setSeconds} />
      </div>

      <output class="mt-6 block border-t border-line pt-6" aria-live="polite">
        <span class="block text-[2.75rem] leading-none tracking-tight">
          <Credits value={seconds * rate} />
        </span>
        <span class="mt-2 block text-dim">
          credits: <span class="figures">{seconds}</span> s × <span class="figures">{rate}</span>
        </span>
      </output>
    </section>
  );
}
