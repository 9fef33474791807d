import assert from 'node:assert/strict';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { readConfig } from '../../src/config/config.ts';
import { ROOT } from './sources.ts';

const FOLDER = path.join(ROOT, 'deploy');

async function read(name: string): Promise<string> {
  return readFile(path.join(FOLDER, name), 'utf8');
}

/** Every variable that the service reads, and those of the AWS SDK and OpenTelemetry's exporter. */
function knownVariables(): Set<string> {
  const names = new Set(['NODE_ENV', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']);
  const env = new Proxy<Record<string, string>>(
    {},
    {
      get(_target, name) {
        if (typeof name === 'string') names.add(name);
        return undefined;
      },
    },
  );
  readConfig(env);
  return names;
}

function groups(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, group = '']) => group);
}

test('each variable that the deployment files set is one that the service reads', async () => {
  const units = (await readdir(path.join(FOLDER, 'systemd'))).map((name) => `systemd/${name}`);
  const unitTexts = (await Promise.all(units.map(read))).join('\n');
  const environment = groups(unitTexts, /^Environment=(.*)$/gm).join(' ');
  const set = [
    ...groups(await read('compose/framewright.env.example'), /^#? ?([A-Z_]+)=/gm),
    ...groups(await read('Dockerfile'), /^ENV (.*)$/gm).flatMap((line) => groups(line, /(\w+)=/g)),
    ...groups(await read('kubernetes/settings.yaml'), /^ {2}([A-Z_]+): /gm),
    ...groups(environment, /(\w+)=/g),
  ];
  assert.ok(set.length > 30, `only ${set.length}`);
  const known = knownVariables();
  assert.deepEqual(
    set.filter((name) => !known.has(name)),
    [],
  );
});

test('what the Dockerfile copies is there, and its ports are those of the other files', async () => {
  const dockerfile = await read('Dockerfile');
  const copied = groups(dockerfile, /^COPY (?!--from)(.*) \S+$/gm).flatMap((names) =>
    names.split(' '),
  );
  assert.ok(copied.length >= 9);
  for (const name of copied) await stat(path.join(ROOT, name));
  const [ports = ''] = groups(dockerfile, /^EXPOSE (.*)$/gm);
  const [api = '', metrics = ''] = ports.split(' ');
  assert.deepEqual(
    new Set(groups(await read('compose/Caddyfile'), /api-\d:(\d+)/g)),
    new Set([api]),
  );
  for (const role of ['api', 'worker']) {
    const manifest = await read(`kubernetes/${role}.yaml`);
    const declared = groups(manifest, /containerPort: (\d+)/g);
    assert.deepEqual(declared, role === 'api' ? [api, metrics] : [metrics]);
  }
});

test('a process has longer to stop than it takes', async () => {
  const { shutdownSeconds } = readConfig({});
  const seconds = [
    ...groups(await read('compose/compose.yaml'), /stop_grace_period: (\d+)s/g),
    ...groups(await read('kubernetes/api.yaml'), /terminationGracePeriodSeconds: (\d+)/g),
    ...groups(await read('kubernetes/worker.yaml'), /terminationGracePeriodSeconds: (\d+)/g),
    ...groups(await read('systemd/framewright-api@.service'), /TimeoutStopSec=(\d+)/g),
    ...groups(await read('systemd/framewright-worker@.service'), /TimeoutStopSec=(\d+)/g),
  ];
  assert.equal(seconds.length, 5);
  for (const given of seconds) assert.ok(Number(given) >= shutdownSeconds + 10, given);
});

test('each link of the page leads to a file', async () => {
  const links = groups(await read('README.md'), /\]\(([^)#\s]+)(?:#[^)]*)?\)/g);
  assert.ok(links.length >= 7);
  for (const link of links) await stat(path.join(FOLDER, link));
});
