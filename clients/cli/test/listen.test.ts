import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { test } from 'node:test';
import { until } from '../../../server/test/until.ts';
import { listenOn } from '../../../simulators/kit/http-server.ts';
import { endOf, openMachine } from './fw-process.ts';

/** A service whose endpoints have this log, in pages as of the API. */
function serviceWithLog(log: string[]): Server {
  return createServer(({ url = '', method }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://service');
    const from = Number(searchParams.get('cursor') ?? 0);
    const to = from + Number(searchParams.get('limit'));
    const endpoint = { id: 'whe_1', mode: 'test' };
    const data = log.toReversed().slice(from, to);
    const page = {
      data: data.map((event_id) => ({ event_id, type: 'credits.low', task_id: null, data: {} })),
      next_cursor: to < log.length ? String(to) : null,
    };
    const shown = pathname.endsWith('/deliveries') ? page : { data: [] };
    response.end(JSON.stringify(method === 'POST' ? endpoint : shown));
  });
}

test('listen relays all events that came since its last look, in their order', async () => {
  const log = ['evt_old'];
  const received: string[] = [];
  await using service = serviceWithLog(log);
  await using local = createServer(({ headers }, response) => {
    received.push(String(headers['webhook-id']));
    response.end();
  });
  await using machine = await openMachine({
    FRAMEWRIGHT_BASE_URL: `${await listenOn(service)}/api/v1`,
    FRAMEWRIGHT_API_KEY: 'fw_test_0000000000000000000000000000000000000000',
  });
  const child = machine.start('listen', '--forward', await listenOn(local));
  const ended = endOf(child);
  await once(child.stdout, 'data');
  const news = Array.from({ length: 250 }, (_, number) => `evt_${number}`);
  log.push(...news);
  await until(async () => received.includes('evt_249'));
  child.kill('SIGKILL');
  await ended;
  assert.deepEqual(received, news);
});
