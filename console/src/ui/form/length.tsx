import { Range, Segments } from './controls.tsx';

/** A video's length: a slider, or buttons if the model does not offer every second in between. */
export function Length({
  value,
  durations,
  onChange,
  error,
}: {
  value: number;
  /** Ascending. */
  durations: readonly number[];
  onChange: (value: number) => void;
  error?: string | undefined;
}) {
  const [min, max] = [durations[0] ?? value, durations.at(-1) ?? value];
  const isEverySecond = max - min === durations.length - 1;
  const words = { label: 'Length', error };
  const range = { value, min, max, onChange };
  if (isEverySecond) return <Range {...words} {...range} />;
  const choices = durations.map((seconds) => ({ value: String(seconds), label: `${seconds} s` }));
  const choose = (text: string) => onChange(Number(text));
  return <Segments {...words} value={String(value)} choices={choices} onChange={choose} />;
}
