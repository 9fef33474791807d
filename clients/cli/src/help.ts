import { COMMON, type Command, type Example, type Option } from './command.ts';
import { COMMANDS } from './commands.ts';
import { EXITS } from './failure.ts';
import { styled } from './terminal/screen.ts';

const title = (text: string) => styled('bold', text);

function columns(rows: (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length)) + 2;
  return rows.map(([left, right]) => `  ${left.padEnd(width)}${right}`).join('\n');
}

function examplesOf(examples: readonly Example[]): string {
  return examples.map(([line, meaning]) => `  ${line}\n      ${styled('dim', meaning)}`).join('\n');
}

const FIRST: readonly Example[] = [
  ['fw login --base-url https://video.example.com', 'once: paste an API key of the website'],
  ['fw generate "A lighthouse at dawn" -o dawn.mp4', 'shows the price and asks before it spends'],
  ['fw resume', 'after a crash or Ctrl-C: never pays twice'],
];

export function overview(): string {
  const codes = Object.values(EXITS).map(([code, meaning]) => [String(code), meaning] as const);
  return `Videos from the command line, paid once also after a crash.

${title('Begin')}
${examplesOf(FIRST)}

${title('Commands')}
${columns(COMMANDS.map(({ name, summary }) => [name, summary]))}

${title('Options of all commands')}
${optionsOf({ ...COMMON, version: { kind: 'flag', summary: 'print the version' } })}

${title('Exit codes')}
${columns([['0', 'done'], ...codes, ['130', 'Ctrl-C']])}

fw COMMAND --help explains a command, with examples.`;
}

function optionsOf(options: Record<string, Option>): string {
  const rows = Object.entries(options).map(([name, { short, value, summary }]) => {
    const names = `${short ? `-${short}, ` : '    '}--${name}`;
    return [value ? `${names} ${value}` : names, summary] as const;
  });
  return columns(rows);
}

export function helpOf({ name, summary, words, options, examples, notes }: Command): string {
  const usage = ['fw', name, words?.usage, '[options]'].filter(Boolean).join(' ');
  const allowed = words?.values ? `\n${words.usage}: ${words.values.join(', ')}` : '';
  return `${title(usage)}
${summary}${allowed}

${title('Options')}
${optionsOf({ ...options, ...COMMON })}

${title('Examples')}
${examplesOf(examples)}${notes ? `\n\n${notes}` : ''}`;
}

export function similarTo(given: string): string | undefined {
  const names = COMMANDS.map(({ name }) => name);
  const start = names.find((name) => name.startsWith(given.slice(0, 3)));
  return names.find((name) => isOneSlipAway(given, name)) ?? start;
}

/** Whether one letter was left out, added or replaced, or two were swapped. */
function isOneSlipAway(given: string, name: string): boolean {
  let same = 0;
  while (given[same] !== undefined && given[same] === name[same]) same++;
  const [rest, wanted] = [given.slice(same), name.slice(same)];
  return (
    rest.slice(1) === wanted.slice(1) ||
    rest === wanted.slice(1) ||
    rest.slice(1) === wanted ||
    (rest[0] === wanted[1] && rest[1] === wanted[0] && rest.slice(2) === wanted.slice(2))
  );
}
