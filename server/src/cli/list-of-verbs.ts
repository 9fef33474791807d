import { NOUNS } from '../operator/verbs/list.ts';
import { usageOf } from './usage.ts';

/** The table of all verbs for docs/operations/commands.md. */
export async function verbTable(): Promise<string> {
  const nouns = await Promise.all(Object.values(NOUNS).map((verbsOf) => verbsOf()));
  const rows = nouns
    .flatMap((verbs) => Object.entries(verbs))
    .map(([name, verb]) => {
      const usage = usageOf(name, verb).replaceAll('|', '\\|');
      return `| \`${usage}\` | ${verb.summary} | ${verb.notOnConsole ?? 'yes'} |`;
    });
  return ['| Command | What it does | On the console |', '|---|---|---|', ...rows].join('\n');
}
