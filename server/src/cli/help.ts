import type { Field } from '../operator/verb/fields.ts';
import type { Verb, Verbs } from '../operator/verb/verb.ts';
import { verbsOf, verbsOfAllNouns } from '../operator/verbs/list.ts';

export function optionOf(field: string): string {
  return `--${field.replaceAll('_', '-')}`;
}

function givenAs(field: string, { kind, word }: Field<unknown>): string {
  return kind === 'flag' ? optionOf(field) : `${optionOf(field)} ${word}`;
}

export function usageOf(name: string, { positional = [], fields, oneOf, reason }: Verb): string {
  const parts = Object.entries(fields).flatMap(([field, facts]) => {
    if (positional.includes(field)) return [];
    if (!oneOf?.fields.includes(field)) {
      const given = givenAs(field, facts);
      return [facts.isOptional ? `[${given}]` : given];
    }
    if (field !== oneOf.fields[0]) return []; // the first one's place lists all alternatives
    const all = oneOf.fields.flatMap((option) => {
      const known = fields[option];
      return known ? [givenAs(option, known)] : [];
    });
    return [oneOf.isRequired ? `(${all.join(' | ')})` : `[${all.join(' | ')}]`];
  });
  const first = positional.map((field) => fields[field]?.word ?? field);
  return [name, ...first, ...parts, ...(reason === 'required' ? ['--reason TEXT'] : [])].join(' ');
}

const SERVE = `  serve
      Run the service (what npm start does); Ctrl-C drains it and shuts it down`;

const NOTES = `
ACCOUNT is an account id or an e-mail address. --json prints one JSON value on standard output.
A command that changes something takes --reason TEXT, which some require, and --by NAME (who runs
it; by default the OS user and host). Each change is recorded (actions list). Repeating one has no
effect, but keys create makes another key. A list takes --limit N (100 rows, at most 1000) and --after CURSOR, for its next page.
The commands also work while a service runs. They read these of its variables: DATA_DIR (./.data),
DATABASE_URL (the embedded database under DATA_DIR), DATABASE_DIRECT_URL. Most of them refuse to run
where there is no database yet.
docs/operators/README.md lists all variables.
`;

const EXAMPLE = `
Example:
  npx --no-install framewright accounts create ada@example.com
  npx --no-install framewright credits grant ada@example.com 1000 --kind paid --reference invoice-1
  npx --no-install framewright keys create ada@example.com
`;

/** The text of --help for the commands that begin with this word, or for all. */
export async function helpText([noun = '']: string[]): Promise<string> {
  const usage = 'Usage: npx --no-install framewright COMMAND [--json]';
  if (noun === 'serve') return `${usage}\n\n${SERVE}\n${NOTES}`;
  const chosen = await verbsOf(noun);
  if (chosen) return `${usage}\n\n${listing(chosen, fieldsOf)}\n${NOTES}`;
  const title = 'framewright: asynchronous video generation, paid with prepaid credits';
  const all = await verbsOfAllNouns();
  const lists = [SERVE, ...all.map((verbs) => listing(verbs))].join('\n');
  const hint =
    'COMMAND --help shows one group of them, such as tasks --help.\n--version prints the version.';
  return `${title}\n\n${usage}\n\n${lists}\n\n${hint}\n${NOTES}${EXAMPLE}`;
}

function listing(verbs: Verbs, more: (verb: Verb) => string = () => ''): string {
  return Object.entries(verbs)
    .map(([name, verb]) => `  ${usageOf(name, verb)}\n      ${verb.summary}${more(verb)}`)
    .join('\n');
}

function fieldsOf({ fields, positional = [] }: Verb): string {
  const named = Object.entries(fields).map(([field, { word, about }]) => {
    return [positional.includes(field) ? word : optionOf(field), about] as const;
  });
  const width = Math.max(...named.map(([name]) => name.length));
  return named.map(([name, about]) => `\n        ${name.padEnd(width)}  ${about}`).join('');
}
