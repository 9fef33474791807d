import { UsageError } from '../kernel/errors.ts';
import { type Database, statement } from './database.ts';

const SETTINGS = statement(
  'database_durability',
  `select current_setting('fsync') as fsync,
     current_setting('synchronous_commit') as synchronous_commit`,
);

/**
 * Checks that a commit that the database reports is on disk. Otherwise a job may run whose attempt
 * is forgotten after a power cut, and is submitted again.
 * @throws UsageError when the settings of the server make commits volatile
 */
export async function requireDurableCommits(db: Database): Promise<void> {
  const [settings] = await db.query<{ fsync: string; synchronous_commit: string }>(SETTINGS);
  const problems = [
    settings?.fsync === 'off' && 'fsync is off',
    settings?.synchronous_commit === 'off' && 'synchronous_commit is off',
  ].filter((problem) => problem !== false);
  if (problems.length === 0) return;
  throw new UsageError(
    `the database may forget commits: ${problems.join(', ')}. Set it to on in the server, ` +
      'or accept lost tasks and jobs that run twice with DATABASE_VOLATILE=yes.',
  );
}

/** The longest times that the sessions behind a pooler may allow, in milliseconds. */
const LIMITS = { statement_timeout: 3000, idle_in_transaction_session_timeout: 30_000 };

const SESSION = statement(
  'database_session_settings',
  `select name, setting from pg_settings where name in ('statement_timeout',
     'idle_in_transaction_session_timeout', 'default_transaction_isolation', 'synchronous_commit')
   union all select 'the first schema of search_path', coalesce(current_schema(), 'none')
   order by name`,
);

/**
 * Checks the sessions behind a pooler. The service can't set them: each transaction may run in
 * another one.
 * @param allowsVolatile whether commits may be forgotten
 * @throws UsageError with the settings to change
 */
export async function requireSessionSettings(db: Database, allowsVolatile: boolean): Promise<void> {
  const problems: string[] = [];
  for (const { name, setting } of await db.query<{ name: string; setting: string }>(SESSION)) {
    const expected = expectedSetting(name, setting, allowsVolatile);
    if (expected) problems.push(`${name} is ${setting}, ${expected} is required`);
  }
  if (problems.length === 0) return;
  throw new UsageError(
    `the sessions behind the connection pooler have other settings than the service needs: ` +
      `${problems.join('; ')}. Set them in the pooler or for the role: see ` +
      'docs/operations/many-processes.md.',
  );
}

/** @returns what is required, if the setting is something else */
function expectedSetting(name: string, value: string, allowsVolatile: boolean): string | undefined {
  if (name === 'synchronous_commit') {
    return allowsVolatile || ['on', 'remote_apply'].includes(value) ? undefined : 'on';
  }
  if (name === 'default_transaction_isolation') {
    return value === 'read committed' ? undefined : 'read committed';
  }
  if (name === 'the first schema of search_path') return value === 'public' ? undefined : 'public';
  const limit = Object.entries(LIMITS).find(([limited]) => limited === name)?.[1] ?? 0;
  const isWithin = Number(value) > 0 && Number(value) <= limit;
  return isWithin ? undefined : `1 to ${limit} (milliseconds)`;
}
