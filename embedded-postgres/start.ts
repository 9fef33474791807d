import { type StdioOptions, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Binaries } from './binaries.ts';
import type { DatabaseFolder } from './folder.ts';
import { makePipe, openBothEnds } from './membership.ts';
import { commandAs, lastLinesOf, type OsUser } from './os-user.ts';

/**
 * The guard: a shell that runs Postgres in a session of its own, so that it outlives the process
 * that started it and no Ctrl-C reaches it. It reads the members' pipe (its standard input) and
 * creates a file to confirm each process that joins. At end of file, when no member is left, it
 * stops Postgres; it repeats the signal, which Postgres ignores early in its start. Postgres is its
 * own child, so the pid can't be reused before the guard has seen its end.
 */
const GUARD = `
umask 077; trap '' HUP INT QUIT TERM
exec 3<&0 </dev/null >>postgres.log 2>&1
"$@" 3<&- & postgres=$!
{
  while read -r token; do : >"joined-$token"; done <&3
  while kill -INT $postgres; do sleep 1 3<&-; done
} 2>/dev/null & watch=$!
exec 3<&-
wait $postgres; status=$?
kill -KILL $watch 2>/dev/null
exit $status`;

/** For a small service on one machine. The caller's settings override these. */
const SETTINGS: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '128MB',
  max_wal_size: '1GB',
  cluster_name: 'framewright',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  // Keeps values of clients' requests out of the log: no statements, no details.
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
};

interface StartOptions {
  folder: DatabaseFolder;
  osUser: OsUser;
  binaries: Binaries;
  settings: Record<string, string>;
  port: number;
}

/** Starts Postgres under its guard. Does not wait until it is ready. */
export async function startServer(options: StartOptions) {
  const { folder, osUser } = options;
  await makePipe(folder, osUser);
  await removeConfirmations(folder);
  const logStart = (await stat(folder.log).catch(() => undefined))?.size ?? 0;
  const { membership, readingEnd } = openBothEnds(folder);
  const { file, args, options: spawnOptions } = guardCommand(options);
  const stdio: StdioOptions = [readingEnd, 'ignore', 'ignore'];
  const guard = spawn(file, args, { ...spawnOptions, detached: true, stdio });
  closeSync(readingEnd);
  guard.once('error', () => {}).unref(); // if it can't be spawned, it has no pid: not alive
  return {
    membership,
    isAlive: () => guard.pid !== undefined && guard.exitCode === null && guard.signalCode === null,
    /** The last lines it has logged since it was started, on one line. */
    lastLogLines: async () => {
      const log = await readFile(folder.log).catch(() => Buffer.alloc(0));
      return lastLinesOf(log.toString('utf8', logStart));
    },
  };
}

function guardCommand({ folder, osUser, binaries, settings, port }: StartOptions) {
  const all = { ...SETTINGS, port: String(port), ...settings };
  const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const postgres = [binaries.postgres, '-D', folder.cluster, ...flags];
  return commandAs(osUser, ['/bin/sh', '-c', GUARD, 'sh', ...postgres], folder.path);
}

/** Removes the confirmations for processes that died while joining. */
async function removeConfirmations(folder: DatabaseFolder): Promise<void> {
  for (const name of await readdir(folder.path)) {
    if (name.startsWith('joined-')) await rm(join(folder.path, name), { force: true });
  }
}

/** A free loopback port: if possible the preferred one, which members still know after a crash. */
export async function freePort(preferred: number): Promise<number> {
  return (await boundPort(preferred)) ?? (await boundPort(0)) ?? preferred;
}

export async function isFree(port: number): Promise<boolean> {
  return (await boundPort(port)) !== undefined;
}

function boundPort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address();
      const bound = typeof address === 'object' ? address?.port : undefined;
      server.close(() => resolve(bound));
    });
  });
}
