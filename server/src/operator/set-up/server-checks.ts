import { databaseAheadMs } from '../../database/clock.ts';
import { queryValue } from '../../database/database.ts';
import { recoverySeconds } from '../../database/lineage.ts';
import { requireDurableCommits } from '../../database/server.ts';
import { measureDisk } from '../../storage/free-space.ts';
import { runningConnections } from '../../worker/live-workers.ts';
import { type Check, toDo } from './set-up.ts';

/** Sign-in with passkeys, Stripe's signatures and certificates tolerate seconds, not minutes. */
const MAX_CLOCK_SECONDS = 2;

const readVersion = queryValue<[], string>(
  'set_up_version',
  `select current_setting('server_version')`,
  '',
);

export const SERVER_CHECKS: Check[] = [
  {
    name: 'database',
    todo: 'Set fsync and synchronous_commit of Postgres to on.',
    async run({ db, isVolatile }) {
      const recovering = await recoverySeconds(db);
      if (recovering !== undefined) {
        const todo = 'Follow docs/operators/restore.md, which ends with the command restored.';
        return toDo('nothing is claimed: the database was restored or replaced', todo);
      }
      if (isVolatile) {
        return toDo('it may forget commits (DATABASE_VOLATILE=yes)', 'Unset DATABASE_VOLATILE.');
      }
      await requireDurableCommits(db);
      return `Postgres ${await readVersion(db)}, durable commits`;
    },
  },
  {
    name: 'connections to the database',
    todo: 'See docs/operators/many-processes.md.',
    async run({ countConnections }) {
      const { needed, allowed } = await countConnections();
      const found = `this start needs at most ${needed} of ${allowed}`;
      if (needed <= allowed) return found;
      return toDo(found, 'Set DATABASE_CONNECTIONS or PROCESSES lower, or max_connections higher.');
    },
  },
  {
    name: 'clock',
    todo: 'Compare the clocks of this machine and of the database.',
    async run({ db }) {
      const seconds = Math.abs(await databaseAheadMs(db)) / 1000;
      const found = `this machine differs from the database by ${seconds.toFixed(1)} s`;
      if (seconds <= MAX_CLOCK_SECONDS) return found;
      return toDo(found, 'Set both clocks by NTP, such as timedatectl set-ntp true.');
    },
  },
  {
    name: 'disk',
    todo: 'Set DATA_DIR to a folder that this user can read.',
    async run({ dataDir, hasObjects }) {
      const { freeBytes, floors } = await measureDisk({ folder: dataDir, hasObjects });
      const found = `${(freeBytes / 1e9).toFixed(1)} GB free under ${dataDir}`;
      if (freeBytes > floors.upload) return found;
      return toDo(found, 'Free some space: see docs/operators/full-disk.md.');
    },
  },
  {
    name: 'worker',
    todo: 'Start the service.',
    async run({ db, provider }) {
      const running = await runningConnections(db);
      if (running.includes(provider)) return `one runs, with PROVIDER=${provider}`;
      const found = running.length === 0 ? 'none runs' : `none runs with PROVIDER=${provider}`;
      return toDo(found, 'Start a process whose ROLES contain worker, with the same variables.');
    },
  },
];
