import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { throughPooler } from '../database.ts';
import { freePort } from '../service/service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';

/** A PgBouncer in transaction mode in front of a Postgres. */
export interface PgBouncer extends AsyncDisposable {
  /** Where it listens: `127.0.0.1:port`. */
  host: string;
}

/** The settings of a session that the service requires; the timeouts suit tests. */
const SESSION = `set statement_timeout=3000; set idle_in_transaction_session_timeout=5000`;

/** PgBouncer refuses to run as root. */
const NOBODY = { uid: 65534, gid: 65534 };

/**
 * Starts PgBouncer in front of all databases of a server.
 * @param program the file of the program; install-pgbouncer.sh prints how to get one
 * @param options.session SQL that makes the settings of each session
 */
export async function startPgBouncer(
  program: string,
  serverUrl: string,
  options: { session?: string; poolSize?: number; port?: number } = {},
): Promise<PgBouncer> {
  const { session = SESSION, poolSize = 12 } = options;
  const { hostname, port, username, password } = new URL(serverUrl);
  const folder = await temporaryFolder();
  const ownPort = options.port ?? (await freePort());
  const ini = path.join(folder.path, 'pgbouncer.ini');
  const users = path.join(folder.path, 'users.txt');
  const connect = session === '' ? '' : ` connect_query='${session}'`;
  await writeFile(users, `"${username}" "${password}"\n`);
  await writeFile(
    ini,
    `[databases]
* = host=${hostname} port=${port}${connect}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${ownPort}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = transaction
default_pool_size = ${poolSize}
max_client_conn = 1000
server_idle_timeout = 10
${await documentedLine('server_login_retry')}
${(await keepsNames(program)) ? 'max_prepared_statements = 500' : ''}
`,
  );
  await chmod(folder.path, 0o755);
  const child = spawn(program, ['-q', ini], {
    stdio: 'ignore',
    ...(process.getuid?.() === 0 ? NOBODY : {}),
  });
  const exited = once(child, 'exit');
  await until(() => accepts(new URL(serverUrl), ownPort), Boolean);
  return {
    host: `127.0.0.1:${ownPort}`,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await exited;
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** A line of the file that many-processes.md shows, so that the tests run with it. */
async function documentedLine(setting: string): Promise<string> {
  const page = await readFile(
    new URL('../../../docs/operators/many-processes.md', import.meta.url),
  );
  const line = new RegExp(`^ *(${setting} = .*)$`, 'm').exec(page.toString())?.[1];
  if (line === undefined) throw new Error(`many-processes.md does not show ${setting}`);
  return line;
}

/** Whether it is 1.21 or newer: an older one does not know the setting. */
async function keepsNames(program: string): Promise<boolean> {
  const { stdout } = await promisify(execFile)(program, ['--version']);
  return Number(/PgBouncer 1\.(\d+)/.exec(stdout)?.[1]) >= 21;
}

async function accepts(server: URL, port: number): Promise<boolean> {
  const client = new pg.Client({
    connectionString: throughPooler(server.href, `127.0.0.1:${port}`),
  });
  client.on('error', () => {});
  return client
    .connect()
    .then(() => true)
    .catch(() => false)
    .finally(() => client.end().catch(() => {}));
}
