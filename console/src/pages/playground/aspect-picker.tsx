import { useId } from 'preact/hooks';

const BOX = 34;

/** The size of a frame of this ratio that fits into a square. */
function drawn(ratio: string): { width: string; height: string } {
  if (!ratio.includes(':')) return { width: '30px', height: '24px' };
  const [w = 1, h = 1] = ratio.split(':').map(Number);
  const scale = BOX / Math.max(w, h);
  return { width: `${Math.round(w * scale)}px`, height: `${Math.round(h * scale)}px` };
}

/** The ratios as frames. Radio buttons: arrow keys move between them. */
export function AspectPicker({
  value,
  ratios,
  frames,
  onChange,
}: {
  value: string;
  ratios: readonly string[];
  /** Width and height in pixels by ratio, for the chosen resolution. */
  frames: Record<string, readonly [number, number]>;
  onChange: (value: string) => void;
}) {
  const name = useId();
  const size = frames[value];
  return (
    <fieldset class="grid min-w-0 gap-1.5">
      <legend class="mb-1.5 flex w-full items-baseline justify-between gap-4 font-medium">
        Aspect ratio
        <span class="figures text-sm font-normal text-dim">
          {size ? `${size[0]} × ${size[1]}` : 'like the first file'}
        </span>
      </legend>
      <div class="flex flex-wrap gap-2">
        {ratios.map((ratio) => (
          <label
            key={ratio}
            class="relative grid w-[4.25rem] justify-items-center gap-1.5 border border-edge bg-sheet pt-2.5 pb-1.5 text-sm hover:border-ink has-checked:border-tungsten has-checked:bg-tungsten has-checked:text-on-tungsten has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-focus"
          >
            <input
              type="radio"
              name={name}
              value={ratio}
              checked={ratio === value}
              onChange={() => onChange(ratio)}
              class="sr-only"
            />
            <span class="grid h-[34px] place-items-center" aria-hidden="true">
              <span
                class={`block border-[1.5px] border-current ${ratio.includes(':') ? '' : 'border-dashed'}`}
                style={drawn(ratio)}
              />
            </span>
            <span class="figures text-xs">{ratio}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
