import { Refusal } from '../../kernel/errors.ts';
import { readIsoTime } from '../../kernel/text/iso-time.ts';

/** A verb's field, as the console gets it in JSON. */
export interface FieldFacts {
  kind: 'text' | 'whole' | 'number' | 'flag' | 'time' | 'choice' | 'file';
  /** One sentence that says what it is, with its unit. */
  about: string;
  /** The placeholder for a value in the command line's help, such as CREDITS. */
  word: string;
  isOptional: boolean;
  min?: number;
  max?: number;
  choices?: readonly string[];
}

/** A field with the parser of its values, from text or JSON. */
export interface Field<Value> extends FieldFacts {
  /** @param refuse throws, with the bound that the value violates: `must be …` */
  read(given: unknown, refuse: (bound: string) => never): Value;
}

export type Fields = Record<string, Field<unknown>>;

/** A verb's input: a member for each field. Optional ones may be undefined. */
export type InputOf<Of extends Fields> = {
  [Name in keyof Of]: Of[Name] extends Field<infer Value> ? Value : never;
};

interface Words {
  word?: string;
}

export function text(
  about: string,
  { word = 'TEXT', max = 300, pattern }: Words & { max?: number; pattern?: [RegExp, string] } = {},
): Field<string> {
  return {
    kind: 'text',
    about,
    word,
    max,
    isOptional: false,
    read(given, refuse) {
      if (typeof given !== 'string') return refuse('must be a text');
      if (/\p{Cc}/u.test(given)) refuse('must be one line without control characters');
      if (given.length > max) refuse(`must have at most ${max} characters`);
      if (pattern && !pattern[0].test(given)) refuse(pattern[1]);
      return given;
    },
  };
}

/** A text, or a number as text; '' for any other JSON value. */
function textOf(given: unknown): string {
  return typeof given === 'string' || typeof given === 'number' ? String(given) : '';
}

interface Limits extends Words {
  min?: number;
  max: number;
}

function numbers(kind: 'whole' | 'number', shape: RegExp, noun: string) {
  return (about: string, { word = 'N', min = 0, max }: Limits): Field<number> => ({
    kind,
    about,
    word,
    min,
    max,
    isOptional: false,
    read(given, refuse) {
      const value = shape.test(textOf(given)) ? Number(given) : Number.NaN;
      if (value >= min && value <= max) return value;
      return refuse(`must be ${noun} from ${min} to ${max}`);
    },
  });
}

export const whole = numbers('whole', /^[+-]?\d{1,15}$/, 'a whole number');
export const decimal = numbers('number', /^\d{1,15}(\.\d+)?$/, 'a number');

/** A switch: `--name` on the command line, true in JSON, `yes` in a query. */
export function flag(about: string): Field<boolean> {
  return {
    kind: 'flag',
    about,
    word: '',
    isOptional: true,
    read(given, refuse) {
      if (given === undefined || given === false || given === 'no') return false;
      return given === true || given === 'yes' || refuse('must be yes or no');
    },
  };
}

export function time(about: string): Field<Date> {
  return {
    kind: 'time',
    about,
    word: 'ISO',
    isOptional: false,
    read: (given, refuse) =>
      readIsoTime(textOf(given)) ??
      refuse(
        'must be an ISO 8601 time, for example 2030-01-31T00:00:00Z; without a zone it is UTC',
      ),
  };
}

export function choiceOf<const Choice extends string>(
  about: string,
  choices: readonly Choice[],
  { word = choices.join('|') }: Words = {},
): Field<Choice> {
  const named = [choices.slice(0, -1).join(', '), choices.at(-1)].join(' or ');
  return {
    kind: 'choice',
    about,
    word,
    choices,
    isOptional: false,
    read: (given, refuse) =>
      choices.find((choice) => choice === given) ?? refuse(`must be ${named}`),
  };
}

/** A file: its path on the command line, in JSON its bytes in base64. */
export function file(about: string, { max }: { max: number }): Field<string> {
  return {
    kind: 'file',
    about,
    word: 'FILE',
    max,
    isOptional: false,
    read(given, refuse) {
      const isBase64 = typeof given === 'string' && /^[A-Za-z0-9+/]+={0,2}$/.test(given);
      return isBase64 ? given : refuse('must be a file, in base64');
    },
  };
}

/** A field whose value is what `parse` makes of the text. */
export function parsed<Value>(
  field: Field<string>,
  parse: (given: string, refuse: (bound: string) => never) => Value,
): Field<Value> {
  return { ...field, read: (given, refuse) => parse(field.read(given, refuse), refuse) };
}

export function optional<Value>(field: Field<Value>): Field<Value | undefined> {
  return {
    ...field,
    isOptional: true,
    read: (given, refuse) => (given === undefined ? undefined : field.read(given, refuse)),
  };
}

/** Lets a field be null, by the word `none`. */
export function orNone<Value>(field: Field<Value>): Field<Value | null> {
  return {
    ...field,
    kind: field.kind === 'file' ? 'file' : 'text', // an input for numbers or dates takes no "none"
    word: `${field.word}|none`,
    read(given, refuse) {
      if (given === 'none' || given === null) return null;
      return field.read(given, (bound) => refuse(`${bound}, or none`));
    },
  };
}

/** @param given texts or JSON values; an empty text counts as absent. @throws Refusal */
export function readInput<Of extends Fields>(fields: Of, given: object) {
  const members: Record<string, unknown> = { ...given };
  const unknown = Object.keys(members).find((name) => !Object.hasOwn(fields, name));
  if (unknown !== undefined) throw new Refusal(unknown, members[unknown], 'is not known here');
  const values = Object.entries(fields).map(([name, field]) => {
    const entered = members[name];
    const value = typeof entered === 'string' ? entered.trim() || undefined : entered;
    if (value === undefined && !field.isOptional) throw new Refusal(name, entered, 'is required');
    const refuse = (bound: string) => {
      throw new Refusal(name, entered, bound);
    };
    return [name, field.read(value, refuse)];
  });
  return Object.fromEntries(values) as InputOf<Of>;
}

export const ACCOUNT = text('The account: its id or its e-mail address.', {
  word: 'ACCOUNT',
  max: 254,
});
export const OF_ACCOUNT = { fields: { account: ACCOUNT }, positional: ['account'] } as const;
export const TASK = text('The id of the task.', { word: 'ID' });
export const KIND = choiceOf('The kind of the credits.', ['paid', 'promotional']);
