import { UsageError } from '../kernel/errors.ts';
import { type Environment, read, refuseVariable } from '../kernel/variables.ts';

/** An account at a provider, as CONNECTIONS names it, `name:kind`. */
export interface ProviderConnection {
  name: string;
  /** The name of its provider. */
  kind: string;
}

/** The prefix of a connection's variables: `SECOND_EU_` for `second-eu`. */
export function prefixOf(name: string): string {
  return `${name.toUpperCase().replaceAll('-', '_')}_`;
}

const SHAPE = /^([a-z][a-z0-9-]{0,30}):([a-z]+)$/;

/**
 * Reads CONNECTIONS, a comma list of `name:kind`.
 * @param kinds the providers of which there may be several connections
 * @param taken names that no connection can have
 */
export function readConnections(
  env: Environment,
  kinds: readonly string[],
  taken: readonly string[],
): ProviderConnection[] {
  const text = read(env, 'CONNECTIONS', '');
  const names = new Set(taken);
  const refuse = (expected: string): never => refuseVariable('CONNECTIONS', text, expected);
  return (text === '' ? [] : text.split(',')).map((entry) => {
    const [, name = '', kind = ''] = SHAPE.exec(entry.trim()) ?? [];
    if (name === '') {
      refuse('a comma list of name:kind, such as second:KIND; a name has a-z, 0-9 and -');
    }
    if (!kinds.includes(kind)) refuse(`a kind of connection after ${name}: ${kinds.join(', ')}`);
    if (names.has(name)) refuse(`another name than ${name}, which is taken`);
    names.add(name);
    return { name, kind };
  });
}

/** Maps the provider's variables to the connection's: `KIND_API_KEY` reads `NAME_API_KEY`. */
export function environmentOf(env: Environment, { name, kind }: ProviderConnection): Environment {
  const own = prefixOf(name);
  const ofKind = prefixOf(kind);
  return new Proxy(env, {
    get(target, variable) {
      const isOfKind = typeof variable === 'string' && variable.startsWith(ofKind);
      return Reflect.get(target, isOfKind ? own + variable.slice(ofKind.length) : variable);
    },
  });
}

/** Calls `work`; a UsageError that it throws then names the connection's variables. */
export async function withVariablesOf<Result>(
  connection: ProviderConnection,
  work: () => Result,
): Promise<Awaited<Result>> {
  try {
    return await work();
  } catch (error) {
    throw renameVariables(connection, error);
  }
}

/** A UsageError about `KIND_API_KEY` becomes one about `NAME_API_KEY`. */
export function renameVariables({ name, kind }: ProviderConnection, error: unknown): unknown {
  if (!(error instanceof UsageError) || name === kind) return error;
  const message = error.message.replaceAll(new RegExp(`\\b${prefixOf(kind)}`, 'g'), prefixOf(name));
  return new UsageError(message, { cause: error });
}

/**
 * Refuses a connection if variables of another one, or of the service, begin with its prefix.
 * @param known the names of the service's variables, without those of connections
 * @throws UsageError, one line
 */
export function refuseCollisions(
  connections: ProviderConnection[],
  known: ReadonlySet<string>,
): void {
  for (const { name } of connections) {
    const prefix = prefixOf(name);
    const others = connections.filter((other) => other.name !== name);
    const other = others.find((candidate) => prefixOf(candidate.name).startsWith(prefix));
    const variable = [...known].find((one) => one.startsWith(prefix));
    if (!other && !variable) continue;
    const why = other ? `the connection ${other.name}` : `the variable ${variable}`;
    throw new UsageError(
      `CONNECTIONS has ${name}, whose variables begin with ${prefix}: ${why} does too, ` +
        'so give it another name',
    );
  }
}
