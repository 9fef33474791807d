import { existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase, statement } from '../../server/src/database/database.ts';
import { createLog } from '../../server/src/kernel/log.ts';
import { BUDGET, CHAT, CHAT_PATH, PARALLEL, type Peer, requestText, served } from './peer.ts';
import { startPeer } from './start-peer.ts';

const KEYS = { rich: 'r'.repeat(48), poor: 'p'.repeat(48) };

/** A channel to the upstream; `poor` belongs to a user with the given quota. */
const SETUP = [
  `insert into channels (id, type, key, status, name, base_url, models, "group", priority, config)
   values (1, 1, 'none', 1, 'upstream', $1, 'gpt-3.5-turbo', 'default', 0, '')`,
  `insert into abilities ("group", model, channel_id, enabled, priority)
   values ('default', 'gpt-3.5-turbo', 1, true, 0)`,
];

export const oneApi: Peer = {
  name: 'one-api',
  version: '8df4a267 (2025-02)',
  durable: 'quota and a log row, after the response, in the background',
  async install(folder) {
    if (['one-api', 'tiktoken'].every((name) => existsSync(path.join(folder, name)))) return;
    throw new Error(
      'no registry has its program: put it into the folder as one-api, its token files as tiktoken',
    );
  },
  async start({ folder, upstreamUrl, databaseUrl, db, port }) {
    const name = `one_api_${Date.now()}`;
    await db.query(statement('', `create database ${name}`));
    const url = new URL(databaseUrl);
    url.pathname = `/${name}`;
    const running = await startPeer([path.join(folder, 'one-api'), '--port', String(port)], {
      cwd: folder,
      env: {
        SQL_DSN: url.href,
        SQL_MAX_OPEN_CONNS: '24', // with its default of 1000, Postgres refuses connections
        SQL_MAX_IDLE_CONNS: '24',
        TIKTOKEN_CACHE_DIR: path.join(folder, 'tiktoken'),
        GIN_MODE: 'release',
        INITIAL_ROOT_TOKEN: KEYS.rich,
        MEMORY_CACHE_ENABLED: 'true',
        SYNC_FREQUENCY: '1',
      },
      url: `http://127.0.0.1:${port}/api/status`,
    });
    const own = openDatabase({ url: url.href, connections: 1, log: createLog({ level: 'warn' }) });
    const run = <Row extends object>(text: string, values: unknown[] = []) =>
      own.query<Row>(statement('', text), values);
    await run(SETUP[0] ?? '', [upstreamUrl]);
    await run(SETUP[1] ?? '');
    await delay(2500); // it reads the channels each second
    const headersOf = (key: string) => ({ authorization: `Bearer sk-${key}` });
    const headers = headersOf(KEYS.rich);
    return {
      ...running,
      requests: {
        read: requestText(port, '/v1/models', headers),
        create: requestText(port, CHAT_PATH, headers, CHAT),
      },
      async overspend() {
        const url = `http://127.0.0.1:${port}${CHAT_PATH}`;
        await served(1, url, CHAT, () => headers);
        await delay(1000);
        const [log] = await run<{ quota: number }>('select max(quota) as quota from logs');
        const price = log?.quota ?? 0;
        await run(
          `insert into users (id, username, password, display_name, role, status, quota, "group",
             access_token, aff_code)
           values (77, 'poor', 'x', 'poor', 1, 1, $1, 'default', 'poor', 'poor')`,
          [price * BUDGET],
        );
        await run(
          `insert into tokens (id, user_id, key, status, name, expired_time, remain_quota,
             unlimited_quota) values (77, 77, $1, 1, 'poor', -1, $2, false)`,
          [KEYS.poor, price * BUDGET],
        );
        const count = await served(PARALLEL, url, CHAT, () => headersOf(KEYS.poor));
        await delay(2000);
        const [left] = await run<{ quota: string }>(
          'select quota::text as quota from users where id = 77',
        );
        return `${count} of ${PARALLEL} served; the balance is ${left?.quota}, a request costs ${price}`;
      },
      async [Symbol.asyncDispose]() {
        await own.close();
        await running[Symbol.asyncDispose]();
      },
    };
  },
};
