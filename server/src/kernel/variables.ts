import { UsageError } from './errors.ts';

export type Environment = Record<string, string | undefined>;

/** @throws UsageError that names the variable, its value and what is expected */
export function refuseVariable(name: string, text: string, expected: string): never {
  throw new UsageError(`${name}=${JSON.stringify(text)} is not valid: expected ${expected}`);
}

/** The text of a variable, or the fallback if the variable is missing or empty. */
export function read(env: Environment, name: string, fallback: string): string {
  return env[name]?.trim() || fallback;
}

/** Wraps an environment: adds to `names` each variable that is read. */
export function recordReads(env: Environment, names: Set<string>): Environment {
  return new Proxy(env, {
    get(target, name) {
      if (typeof name === 'string') names.add(name);
      return Reflect.get(target, name);
    },
  });
}

/** In seconds. A Node timer that is set to more than 24.8 days fires at once. */
const MAX_TIMER_SECONDS = 2_000_000;

/** A number within the bounds; fractions are allowed. */
export function number(
  env: Environment,
  name: string,
  fallback: number,
  { min = 0, max = MAX_TIMER_SECONDS }: { min?: number; max?: number } = {},
): number {
  const text = read(env, name, String(fallback));
  const value = /^\d+(\.\d+)?$|^\.\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) refuseVariable(name, text, `a number from ${min} to ${max}`);
  return value;
}

export function wholeNumber(
  env: Environment,
  name: string,
  fallback: number,
  { min, max }: { min: number; max: number },
): number {
  const text = read(env, name, String(fallback));
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max))
    refuseVariable(name, text, `a whole number from ${min} to ${max}`);
  return value;
}

/** Calls `work` and prefixes its UsageError, if any, with the names of these variables. */
export function namingVariables<Result>(variables: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`${variables}: ${error.message}`, { cause: error });
  }
}

/** A port number; 0 means any free port. */
export function port(env: Environment, name: string, fallback: string): number {
  const text = read(env, name, fallback);
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > 65_535)
    refuseVariable(name, text, 'a port number, 0 to 65535');
  return value;
}

export function choice<Value extends string>(
  env: Environment,
  name: string,
  fallback: Value,
  values: readonly Value[],
): Value {
  const text = read(env, name, fallback);
  return values.find((value) => value === text) ?? refuseVariable(name, text, values.join(', '));
}

export function yesOrNo(env: Environment, name: string, fallback: 'yes' | 'no'): boolean {
  return choice(env, name, fallback, ['yes', 'no']) === 'yes';
}

/** An http or https URL without a slash at its end; undefined if it is not set. */
export function webAddress(env: Environment, name: string): string | undefined {
  const text = read(env, name, '');
  if (text === '') return undefined;
  const url = URL.parse(text);
  if (url?.password || url?.username || text.includes('@')) {
    // The value is not shown: it may hold a password.
    throw new UsageError(`${name} is not valid: expected an address without a user and password`);
  }
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash) {
    refuseVariable(name, text, 'an address such as https://video.example.com');
  }
  return url.href.replace(/\/+$/, '');
}

/**
 * A secret; undefined if it is not set. Characters that a header can't have are refused at the
 * start: later, they would make the outcome of a submit unknown.
 */
export function secret(env: Environment, name: string): string | undefined {
  const text = read(env, name, '');
  // The value is not shown, because it is secret.
  if (!/^[\x20-\x7e]*$/.test(text)) {
    throw new UsageError(`${name} is not valid: expected plain ASCII characters on one line`);
  }
  return text || undefined;
}
