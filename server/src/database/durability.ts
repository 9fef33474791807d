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
