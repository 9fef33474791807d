import type { TestOutcome } from '../../../../server/src/site/playground/prices.ts';
import { useMode } from '../../session.tsx';
import { Card } from '../../ui/card.tsx';
import { Select } from '../../ui/form/controls.tsx';
import type { TextProps } from '../../ui/form/field.tsx';

/** The outcome of a test video, by the word in its prompt (docs/customers/test-keys.md). */
const OUTCOMES: Record<TestOutcome, string> = {
  completed: 'It is completed after about 2 seconds',
  slow: 'It is completed after 30 seconds',
  refused: 'The provider refuses the content: refunded',
  failed: 'It fails after its acceptance: refunded',
  busy: 'The provider takes no jobs: tried again for some minutes, then refunded',
  'held-accepted': 'Held for 10 seconds, then completed',
  'held-refused': 'Held for 10 seconds, then refunded',
  'media-unreachable': 'A file can’t be downloaded: refunded',
  'rate-limited': 'Nothing is made: too many requests',
  'insufficient-credits': 'Nothing is made: not enough test credits',
};
const NAMES = Object.keys(OUTCOMES) as TestOutcome[];
const CHOICES = Object.fromEntries(NAMES.map((name) => [name, `test-${name}: ${OUTCOMES[name]}`]));

/** The outcome words in a prompt, with preceding white space. */
const WORDS = new RegExp(String.raw`\s*\btest-(${NAMES.join('|')})\b(?!-[a-z])`, 'gi');

export function TestOutcomes({ value: prompt, onChange }: Pick<TextProps, 'value' | 'onChange'>) {
  if (useMode() === 'live') return null;
  const [first] = prompt.matchAll(WORDS);
  const choose = (name: string) => {
    const rest = prompt.replaceAll(WORDS, '').trim() || 'A test';
    onChange(name === 'completed' ? rest : `${rest} test-${name}`);
  };
  return (
    <Card
      title="What happens"
      note="No AI model is called: the video is a small sample. A word in the prompt decides what becomes of it, here and with a test key."
    >
      <Select
        label="Outcome"
        value={first?.[1]?.toLowerCase() ?? 'completed'}
        choices={CHOICES}
        onChange={choose}
      />
    </Card>
  );
}
