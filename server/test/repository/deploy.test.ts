import assert from 'node:assert/strict';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { readConfig } from '../../src/config/config.ts';
import { ROOT } from './sources.ts';

function read(name: string): Promise<string> {
  return readFile(path.join(ROOT, 'deploy', name), 'utf8');
}

/** The first group of each match. */
function groups(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, group = '']) => group);
}

test('what the Dockerfile copies is there, and its ports are those of the other files', async () => {
  const dockerfile = await read('Dockerfile');
  const copied = groups(dockerfile, /^COPY (?!--from)(.*) \S+$/gm).flatMap((names) =>
    names.split(' '),
  );
  assert.ok(copied.length >= 9);
  for (const name of copied) await stat(path.join(ROOT, name));
  const [api = '', metrics = ''] = groups(dockerfile, /^EXPOSE (.*)$/gm)
    .join()
    .split(' ');
  const proxied = groups(await read('compose/Caddyfile'), /api-\d:(\d+)/g);
  assert.deepEqual(new Set(proxied), new Set([api]));
  for (const [role, ports] of Object.entries({ api: [api, metrics], worker: [metrics] })) {
    const manifest = await read(`kubernetes/${role}.yaml`);
    assert.deepEqual(groups(manifest, /containerPort: (\d+)/g), ports);
  }
});

test('a process has longer to stop than it takes', async () => {
  const { shutdownSeconds } = readConfig({});
  for (const [name, setting] of [
    ['compose/compose.yaml', /stop_grace_period: (\d+)s/g],
    ['kubernetes/api.yaml', /terminationGracePeriodSeconds: (\d+)/g],
    ['kubernetes/worker.yaml', /terminationGracePeriodSeconds: (\d+)/g],
    ['systemd/framewright-api@.service', /TimeoutStopSec=(\d+)/g],
    ['systemd/framewright-worker@.service', /TimeoutStopSec=(\d+)/g],
  ] as const) {
    const [given = 0] = groups(await read(name), setting);
    assert.ok(Number(given) >= shutdownSeconds + 10, `${name}: ${given}`);
  }
});
