import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { open, readdir, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type Account, commandAs, oneLine } from './account.ts';
import type { Binaries } from './binaries.ts';
import type { DatabaseFolder } from './folder.ts';
import { type Lease, makePipe, openBothEnds } from './lease.ts';

const LOG_TAIL_BYTES = 4096;

/**
 * The shell beside Postgres, in a session of its own: a terminal's Ctrl-C does not reach it, and
 * it outlives whoever started it. It reads the pipe of users (its standard input), answers each
 * who joins with a file, and at the end of file, when no user is left, stops Postgres. It repeats
 * the signal because a Postgres that has only just begun to start ignores the first. Postgres is
 * its own child, whose number can't become another's before it has seen the end.
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

/** For a small service on one machine; what the caller hands in comes after and wins. */
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
  // Values of clients' requests stay out of the log: no statements, no details.
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
};

/** A server on its way up. */
export interface Startup {
  lease: Lease;
  port: number;
  /** Whether its process still runs. */
  isAlive(): boolean;
  /** What it said since it was started, the last lines on one line. */
  lastWords(): Promise<string>;
}

export interface StartOptions {
  folder: DatabaseFolder;
  account: Account;
  binaries: Binaries;
  settings: Record<string, string>;
  port: number;
}

/** Starts Postgres under its guard and does not wait for it to be ready. */
export async function startServer(options: StartOptions): Promise<Startup> {
  const { folder, account, port } = options;
  await makePipe(folder, account);
  await removeAnswers(folder);
  const logStart = (await stat(folder.log).catch(() => undefined))?.size ?? 0;
  const { lease, readingEnd } = openBothEnds(folder);
  const { file, args, options: how } = guardCommand(options);
  let isAlive = true;
  const guard = spawn(file, args, {
    ...how,
    detached: true,
    stdio: [readingEnd, 'ignore', 'ignore'],
  });
  closeSync(readingEnd);
  for (const end of ['error', 'exit']) {
    guard.once(end, () => {
      isAlive = false;
    });
  }
  guard.unref();
  return {
    lease,
    port,
    isAlive: () => isAlive,
    lastWords: async () => oneLine(await readFrom(folder.log, logStart)),
  };
}

function guardCommand({ folder, account, binaries, settings, port }: StartOptions) {
  const all = { ...SETTINGS, port: String(port), ...settings };
  const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return commandAs(
    account,
    ['/bin/sh', '-c', GUARD, 'sh', binaries.postgres, '-D', folder.cluster, ...flags],
    folder.path,
  );
}

/** Answers that nobody fetched, because he died while joining. */
async function removeAnswers(folder: DatabaseFolder): Promise<void> {
  for (const name of await readdir(folder.path)) {
    if (name.startsWith('joined-')) await rm(join(folder.path, name), { force: true });
  }
}

async function readFrom(path: string, start: number): Promise<string> {
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return '';
  try {
    const from = Math.max(start, (await file.stat()).size - LOG_TAIL_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(LOG_TAIL_BYTES), { position: from });
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

/**
 * A loopback port nobody listens on: the preferred one if that is free, so that after a crash the
 * connections of those who were using the database find it again.
 */
export async function freePort(preferred: number): Promise<number> {
  return (await boundPort(preferred)) ?? (await boundPort(0)) ?? preferred;
}

/** Whether a loopback port can be listened on. */
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
