import pg from 'pg';
import './connection.ts'; // sets how passwords are read
import { UsageError } from '../kernel/errors.ts';
import { type Database, query, queryFirst } from './database.ts';
import { textOf } from './pool.ts';

/** The major versions of Postgres that the tests have run on. */
const OLDEST_VERSION = 15;
const NEWEST_VERSION = 18;

/** A statement timeout that nobody else chooses. If a session reports another, a pooler dropped it. */
const PROBE_SECONDS = 11;
const CONNECT_SECONDS = 10;

/**
 * Checks that a variable's URL leads to a supported Postgres, and not to a transaction pooler,
 * where each statement may run in another session.
 * @throws UsageError with one line, without the password
 */
export async function requireServer(url: string, variable: string): Promise<void> {
  const facts = await readRow<{ version: string; number: number; statement_timeout: string }>(
    { url, variable, statementSeconds: PROBE_SECONDS },
    `select current_setting('server_version') as version,
       current_setting('server_version_num')::int as number,
       current_setting('statement_timeout') as statement_timeout`,
  );
  const major = Math.trunc(facts.number / 10_000); // such as 180004
  if (!(major >= OLDEST_VERSION && major <= NEWEST_VERSION)) {
    throw new UsageError(
      `${variable} is a server of version ${facts.version}: Postgres ${OLDEST_VERSION} to ` +
        `${NEWEST_VERSION} is required. The service was not tested on other versions.`,
    );
  }
  if (facts.statement_timeout !== `${PROBE_SECONDS}s`) throw poolerFound(variable);
}

/**
 * Checks that a pooler leads to the same server and database as the direct URL.
 * @throws UsageError with one line, without the passwords
 */
export async function requireSameServer(url: string, directUrl: string): Promise<void> {
  const [pooled, direct] = await Promise.all([
    readIdentity(url, 'DATABASE_URL'),
    readIdentity(directUrl, 'DATABASE_DIRECT_URL'),
  ]);
  if (pooled === direct) return;
  throw new UsageError(
    `DATABASE_URL leads to ${pooled}, but DATABASE_DIRECT_URL to ${direct}: both must lead to ` +
      'the same database of the same server',
  );
}

async function readIdentity(url: string, variable: string): Promise<string> {
  const { identity } = await readRow<{ identity: string }>(
    { url, variable },
    `select format('database %s (%s) of the server started at %s', datname, oid,
       pg_postmaster_start_time() at time zone 'UTC') as identity
     from pg_database where datname = current_database()`,
  );
  return identity;
}

/** Leave out `statementSeconds` for a pooler, which may refuse that setting. */
async function readRow<Row extends object>(
  options: { url: string; variable: string; statementSeconds?: number },
  text: string,
): Promise<Row> {
  const { url, variable, statementSeconds } = options;
  let client: pg.Client | undefined;
  try {
    client = new pg.Client({
      connectionString: url, // throws here if it names a missing certificate file
      connectionTimeoutMillis: CONNECT_SECONDS * 1000,
      query_timeout: CONNECT_SECONDS * 1000, // a pooler accepts connections without a server
      ...(statementSeconds === undefined ? {} : { statement_timeout: statementSeconds * 1000 }),
    });
    client.on('error', () => {}); // the statement under way fails too
    await client.connect();
    const [row] = (await client.query<Row & pg.QueryResultRow>(text)).rows;
    if (!row) throw new Error('the server returned no row');
    return row;
  } catch (error) {
    const cause = textOf(error);
    if (/^unsupported startup parameter/.test(cause)) throw poolerFound(variable);
    throw new UsageError(`the database can't be reached: ${cause}. Check ${variable}.`);
  } finally {
    await client?.end().catch(() => {});
  }
}

function poolerFound(variable: string): UsageError {
  const advice =
    variable === 'DATABASE_DIRECT_URL'
      ? 'Set it to the address of Postgres itself'
      : 'Set DATABASE_DIRECT_URL to the address of Postgres itself';
  return new UsageError(
    `${variable} is the address of a connection pooler. ${advice}: see ` +
      'docs/operators/many-processes.md.',
  );
}

const readDurability = queryFirst<[], { fsync: string; synchronous_commit: string }>(
  'database_durability',
  `select current_setting('fsync') as fsync,
     current_setting('synchronous_commit') as synchronous_commit`,
);

/**
 * A power cut must not lose the attempt of a running job: its task would be submitted again.
 * @throws UsageError when the settings of the server make commits volatile
 */
export async function requireDurableCommits(db: Database): Promise<void> {
  const settings = Object.entries((await readDurability(db)) ?? {});
  const problems = settings.flatMap(([name, value]) => (value === 'off' ? [`${name} is off`] : []));
  if (problems.length === 0) return;
  throw new UsageError(
    `the database may forget commits: ${problems.join(', ')}. Set it to on in the server, ` +
      'or accept lost tasks and jobs that run twice with DATABASE_VOLATILE=yes.',
  );
}

const LIMITS: Record<string, number> = {
  statement_timeout: 3000,
  idle_in_transaction_session_timeout: 30_000,
};
const REQUIRED: Record<string, string> = {
  synchronous_commit: 'on',
  default_transaction_isolation: 'read committed',
  'the first schema of search_path': 'public',
};

const readSession = query<[], { name: string; setting: string }>(
  'database_session_settings',
  `select name, setting from pg_settings where name in ('statement_timeout',
     'idle_in_transaction_session_timeout', 'default_transaction_isolation', 'synchronous_commit')
   union all select 'the first schema of search_path', coalesce(current_schema(), 'none')
   order by name`,
);

/** Checks sessions behind a pooler, whose settings the service can't set. @throws UsageError */
export async function requireSessionSettings(db: Database, allowsVolatile: boolean): Promise<void> {
  const problems = (await readSession(db)).flatMap(({ name, setting }) => {
    const expected = expectedSetting(name, setting, allowsVolatile);
    return expected ? [`${name} is ${setting}, ${expected} is required`] : [];
  });
  if (problems.length === 0) return;
  throw new UsageError(
    `the sessions behind the connection pooler have other settings than the service needs: ` +
      `${problems.join('; ')}. Set them in the pooler or for the role: see ` +
      'docs/operators/many-processes.md.',
  );
}

/** @returns the required value, if the setting differs */
function expectedSetting(name: string, value: string, allowsVolatile: boolean): string | undefined {
  const limit = LIMITS[name];
  if (limit !== undefined) {
    const isWithin = Number(value) > 0 && Number(value) <= limit;
    return isWithin ? undefined : `1 to ${limit} (milliseconds)`;
  }
  if (name === 'synchronous_commit' && (allowsVolatile || value === 'remote_apply'))
    return undefined;
  return value === REQUIRED[name] ? undefined : REQUIRED[name];
}
