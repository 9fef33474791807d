import { UsageError } from './errors.ts';

/** The variables as a process is given them. */
export type Environment = Record<string, string | undefined>;

/** @throws UsageError that names the variable, repeats its value and says what it wants */
export function bad(name: string, text: string, wanted: string): never {
  throw new UsageError(`${name}=${JSON.stringify(text)} is not valid: it wants ${wanted}`);
}

/** The text of a variable; one that is missing or empty counts as not set. */
export function read(env: Environment, name: string, fallback: string): string {
  return env[name]?.trim() || fallback;
}

/** A timer of Node's that is to wait for longer than 24.8 days fires at once. */
const MAX_WAIT = 2_000_000;

/** A number, fractions included, within its bounds. */
export function number(
  env: Environment,
  name: string,
  fallback: number,
  { min = 0, max = MAX_WAIT }: { min?: number; max?: number } = {},
): number {
  const text = read(env, name, String(fallback));
  const value = /^\d+(\.\d+)?$|^\.\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) bad(name, text, `a number from ${min} to ${max}`);
  return value;
}

/** Prefixes a UsageError of the work with the variables that caused it. */
export function namingVariables<Result>(variables: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`${variables}: ${error.message}`, { cause: error });
  }
}

/** A port number; 0 picks a free one. */
export function port(env: Environment, name: string, fallback: string): number {
  const text = read(env, name, fallback);
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > 65_535) bad(name, text, 'a port number, 0 to 65535');
  return value;
}

/** One of these values. */
export function choice<Value extends string>(
  env: Environment,
  name: string,
  fallback: Value,
  values: readonly Value[],
): Value {
  const text = read(env, name, fallback);
  return values.find((value) => value === text) ?? bad(name, text, values.join(', '));
}

/** A switch: yes or no. */
export function yesOrNo(env: Environment, name: string, fallback: 'yes' | 'no'): boolean {
  return choice(env, name, fallback, ['yes', 'no']) === 'yes';
}

/** An http or https address without a slash at its end; undefined when it is not set. */
export function webAddress(env: Environment, name: string): string | undefined {
  const text = read(env, name, '');
  if (text === '') return undefined;
  const url = URL.parse(text);
  if (url?.password || url?.username || text.includes('@')) {
    // The value is not repeated: it may hold a password.
    throw new UsageError(`${name} is not valid: it wants an address without a user and password`);
  }
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash) {
    bad(name, text, 'an address such as https://video.example.com');
  }
  return url.href.replace(/\/+$/, '');
}

/**
 * Something that nobody else may know; undefined when it is not set. What could not be sent in a
 * header is refused here: a request that breaks while it is written leaves its outcome open.
 */
export function secret(env: Environment, name: string): string | undefined {
  const text = read(env, name, '');
  // The value is not repeated.
  if (!/^[\x20-\x7e]*$/.test(text)) {
    throw new UsageError(`${name} is not valid: it wants plain ASCII characters on one line`);
  }
  return text || undefined;
}
