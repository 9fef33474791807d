import assert from 'node:assert/strict';
import { test } from 'node:test';
import fastify from 'fastify';
import { UsageError } from '../kernel/errors.ts';
import { listen } from './listen.ts';

const HOST = '127.0.0.1';

/** The message of a listen that is refused. */
async function refusal(host: string, port: number): Promise<string> {
  const listening = listen(fastify(), { host, port, variable: 'METRICS_PORT' });
  return listening.then(
    () => 'it listens',
    (error: unknown) => (error instanceof UsageError ? error.message : String(error)),
  );
}

test('only a port in use is a reason to name another port', async (t) => {
  const first = fastify();
  t.after(() => first.close());
  const port = Number(new URL(await listen(first, { host: HOST, port: 0, variable: 'PORT' })).port);
  assert.equal(
    await refusal(HOST, port),
    `can't listen on ${HOST} port ${port}: the port is in use. Set METRICS_PORT to another port.`,
  );
  // 192.0.2.0/24 is for documentation (RFC 5737): no machine has such an address.
  assert.equal(
    await refusal('192.0.2.1', 0),
    "can't listen on 192.0.2.1 port 0: listen EADDRNOTAVAIL: address not available 192.0.2.1. " +
      'Check HOST and METRICS_PORT.',
  );
});
