import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { BlockList } from 'node:net';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { isOneLineAbout } from '../../test/providers/settings.ts';
import { TEST_PROVIDER } from '../providers/test-provider.ts';
import { readConfig } from './config.ts';
import { readWebsite } from './website.ts';

// repository/operations-docs.test.ts shows the defaults that the pages name.
test('without any variable nothing is stored or sent elsewhere, and no private host is reached', () => {
  const config = readConfig({});
  const names = config.configuredProviders.map(({ name }) => name);
  assert.deepEqual(names, ['local', TEST_PROVIDER]);
  assert.equal(config.provider, 'local');
  assert.equal(config.publicUrl, 'http://127.0.0.1:8080');
  assert.deepEqual(config.storage, { kind: 'disk', folder: path.resolve('.data/objects') });
  assert.deepEqual([config.deliveryMode, config.presignsInputs], ['proxy', false]);
  const { databaseUrl, databaseDirectUrl, historyDays, stripe, tracing } = config;
  const unset = [databaseUrl, databaseDirectUrl, historyDays, stripe, tracing];
  assert.deepEqual(unset, Array(5).fill(undefined));
  const none = { allow: new Set(), deny: new BlockList() };
  assert.deepEqual([config.clientHosts, config.providerHosts, config.dnsServers], [none, none, []]);
  assert.deepEqual({ ...config.webhookHosts, ports: undefined }, { ...none, ports: undefined });
  assert.deepEqual(config.website, readWebsite({}));
});

test('a value may be a fraction or have spaces around it; an empty value counts as not set', () => {
  const config = readConfig({
    METRICS_PORT: ' 9100 ',
    PUBLIC_URL: 'https://video.example.com/base//',
    POLL_MIN_SECONDS: '.2',
    LOG_LEVEL: '',
    OUTBOUND_ALLOW: 'localhost:8443, [::1]:1',
    OUTBOUND_DENY: '20.1.2.0/24',
  });
  const settings = [config.metricsPort, config.pollMinSeconds, config.logLevel];
  assert.deepEqual(settings, [9100, 0.2, 'info']);
  assert.equal(config.publicUrl, 'https://video.example.com/base');
  assert.deepEqual(config.clientHosts.allow, new Set(['localhost:8443', '[::1]:1']));
  assert.deepEqual(config.clientHosts.deny?.rules, ['Subnet: IPv4 20.1.2.0/24']);
  assert.equal(config.providerHosts.deny, config.clientHosts.deny);
});

test('without PUBLIC_URL, the public address is made of HOST and PORT, unless PORT is 0', () => {
  const publicUrl = (env: Record<string, string>) => readConfig(env).publicUrl;
  assert.equal(publicUrl({ HOST: '10.0.0.9', ROLES: 'worker' }), 'http://10.0.0.9:8080');
  assert.equal(publicUrl({ HOST: '0.0.0.0', PORT: '80' }), 'http://127.0.0.1:80');
  assert.equal(publicUrl({ HOST: '::', PORT: '8081' }), 'http://[::1]:8081');
  assert.equal(publicUrl({ PORT: '0' }), undefined);
});

test('a worker apart from the API is refused without a host for its links', () => {
  const worker = { PORT: '0', ROLES: 'worker' };
  const several = { PORT: '0', PROCESSES: '2' };
  for (const env of [worker, several]) {
    assert.throws(() => readConfig(env), isOneLineAbout('PUBLIC_URL'));
    assert.doesNotThrow(() => readConfig({ ...env, PUBLIC_URL: 'https://video.example.com' }));
    assert.doesNotThrow(() => readConfig({ ...env, PORT: '8081' }));
  }
  assert.doesNotThrow(() => readConfig({ ...several, ROLES: 'api' }));
});

const NUMBERS = [
  'CREATE_WAIT_SECONDS',
  'SUBMIT_TIMEOUT_SECONDS',
  'SUBMIT_RETRY_SECONDS',
  'POLL_MIN_SECONDS',
  'POLL_MAX_SECONDS',
  'RECONCILE_SECONDS',
  'DELIVERY_SECONDS',
  'RETENTION_DAYS',
  'SHUTDOWN_SECONDS',
  'MODERATION_REVIEW_HOURS',
  'MODERATION_TIMEOUT_SECONDS',
];

const BAD: Record<string, string[]> = {
  PORT: ['http', '-1', '65536', '80.5', '0x50', '1e3'],
  METRICS_PORT: ['on', '70000'],
  PUBLIC_URL: ['video.example.com', 'ftp://x', 'https://', 'https://x/?a=b', 'https://x/#top'],
  ROLES: ['all', 'api,', 'api;worker', ','],
  STORAGE_URL: [
    's3://bucket',
    's3:///key?region=eu-1',
    'https://bucket.example.com',
    's3://bucket?region=eu-1&bucket=b',
    's3://bucket?endpoint=s3.example.com',
    's3://bucket?endpoint=https://s3.example.com/path',
    's3://bucket?region=eu-1&pathStyle=yes',
    's3://key:secret@bucket?region=eu-1',
    's3://bucket/%zz?region=eu-1',
  ],
  DELIVERY_MODE: ['direct', 'redirect'],
  INPUT_LINKS: ['all', 'presigned'],
  PROVIDER: ['openai', 'LOCAL'],
  OUTBOUND_DNS: ['dns.example.com', '1.1.1', '1.1.1.1:x', '1.1.1.1,,8.8.8.8'],
  PROVIDER_ALLOW: ['gateway', 'http://x:1'],
  OUTBOUND_DENY: ['example.com', '20.1.2.0/33', '20.1.2.3,,20.1.2.4'],
  WEBHOOK_PORTS: ['https', '0', '70000', '9-8', '443,,8443'],
  OUTBOUND_ALLOW: ['localhost', 'https://x:1', 'x:0', 'x:99999', 'a:1,,b:2'],
  BRAND_NAME: ['x'.repeat(61), 'a\nb'],
  BRAND_LOGO: ['/no/such/file', '/', import.meta.filename],
  TERMS_URL: ['http://example.com/terms'],
  LOG_LEVEL: ['loud', 'INFO'],
  CONTENT_CREDENTIALS_SIGNER_URL: ['kms', 'http://kms.example.com', 'https://kms.example.com'],
  MODERATION_URL: ['words.example.com', 'http://words.example.com', 'https://10.0.0.5'],
  MODERATION_KIND: ['openai'],
  MODERATION_ON_FAILURE: ['wait'],
  MODERATION_WORDS_FILE: ['/no/such/file'],
  MODERATION_REFUSAL_LIMIT: ['-1', '0.5'],
  ...Object.fromEntries(
    NUMBERS.map((name) => [name, ['soon', '-1', '5s', '1e3', 'NaN', 'Infinity', '9'.repeat(400)]]),
  ),
};

test('with a bad value the service does not start, and one line names the variable', () => {
  for (const [name, values] of Object.entries(BAD)) {
    for (const value of values) {
      assert.throws(() => readConfig({ [name]: value }), isOneLineAbout(name), `${name}=${value}`);
    }
  }
});

test('a webhook that moderates needs a secret that can sign', () => {
  const url = 'https://words.example.com';
  for (const secret of ['', 'hunter2', 'whsec_aHVudGVyMg==', `${'a'.repeat(32)}`]) {
    const env = { MODERATION_URL: url, MODERATION_SECRET: secret };
    assert.throws(() => readConfig(env), isOneLineAbout('MODERATION_SECRET'));
    assert.doesNotThrow(() => readConfig({ ...env, MODERATION_KIND: 'moderations' }));
  }
  const secret = `whsec_${Buffer.alloc(24).toString('base64')}`;
  const allowed = { MODERATION_URL: 'http://10.0.0.5:81', OUTBOUND_ALLOW: '10.0.0.5:81' };
  const { moderation } = readConfig({ ...allowed, MODERATION_SECRET: secret });
  assert.partialDeepStrictEqual(moderation.service, { kind: 'webhook', secret });
});

test('an interval of 0 is refused, and so is a POLL_MAX_SECONDS below POLL_MIN_SECONDS', () => {
  for (const name of ['POLL_MIN_SECONDS', 'POLL_MAX_SECONDS', 'RECONCILE_SECONDS']) {
    assert.throws(() => readConfig({ [name]: '0' }), isOneLineAbout(name));
  }
  const crossed = { POLL_MIN_SECONDS: '5', POLL_MAX_SECONDS: '4' };
  assert.throws(() => readConfig(crossed), isOneLineAbout('POLL_MAX_SECONDS'));
});

test('a wait that is too long for a timer is refused', () => {
  const setTimeoutSeconds = 2 ** 31 / 1000;
  for (const name of NUMBERS.filter((each) => !/DELIVERY|RETENTION/.test(each))) {
    assert.throws(() => readConfig({ [name]: String(setTimeoutSeconds) }), isOneLineAbout(name));
  }
});

test('the error for a bad address does not contain its password', () => {
  const bad = {
    DATABASE_URL: ['mysql://ada:hunter2@db/x', 'ada:hunter2@db', 'hunter2'],
    PUBLIC_URL: ['https://ada:hunter2@video.example.com', 'ftp://ada:hunter2@x', 'ada:hunter2@x'],
  };
  for (const [name, values] of Object.entries(bad)) {
    for (const value of values) {
      assert.throws(() => readConfig({ [name]: value }), isOneLineAbout(name), value);
    }
  }
});

test('PROVIDER has no default where a database or a provider is configured', () => {
  const isRefused = isOneLineAbout('PROVIDER is not set');
  const owned = [
    { DATABASE_URL: 'postgres://ada:hunter2@db/x' },
    ...['ARK_API_KEY', 'FAL_API_KEY', 'REPLICATE_API_TOKEN', 'OPENROUTER_API_KEY'].map((name) => ({
      [name]: 'hunter2',
    })),
    { COMFYUI_BASE_URL: 'http://10.0.0.5:8188', COMFYUI_WORKFLOWS: 'workflow.json' },
  ];
  for (const env of owned) {
    assert.throws(() => readConfig(env), isRefused, JSON.stringify(env));
    assert.throws(() => readConfig({ ...env, PROVIDER: ' ' }), isRefused);
    assert.equal(readConfig({ ...env, PROVIDER: 'local' }).provider, 'local');
  }
});

test('a direct address of the database needs an address of its pooler', () => {
  const DATABASE_DIRECT_URL = 'postgres://ada:pw@db/x';
  const given = { DATABASE_URL: 'postgres://ada:pw@pooler/x', DATABASE_DIRECT_URL };
  const { databaseUrl, databaseDirectUrl } = readConfig({ ...given, PROVIDER: 'local' });
  assert.deepEqual([databaseUrl, databaseDirectUrl], [given.DATABASE_URL, DATABASE_DIRECT_URL]);
  assert.throws(() => readConfig({ DATABASE_DIRECT_URL }), /DATABASE_URL is not: set DATABASE_URL/);
  assert.throws(
    () => readConfig({ ...given, PROVIDER: 'local', DATABASE_DIRECT_URL: 'db:5432' }),
    /^UsageError: DATABASE_DIRECT_URL is not valid: expected postgres:/,
  );
});

test('STORAGE_URL names a bucket of Amazon S3 or of another store', () => {
  const amazon = readConfig({ STORAGE_URL: 's3://videos/a/b/?region=eu-1' });
  assert.deepEqual(amazon.storage, {
    kind: 's3',
    s3: {
      bucket: 'videos',
      prefix: 'a/b',
      region: 'eu-1',
      pathStyle: false,
      endpoint: 'https://s3.eu-1.amazonaws.com',
      publicEndpoint: 'https://s3.eu-1.amazonaws.com',
    },
  });
  assert.equal(amazon.deliveryMode, 'redirect');
  const text = 's3://videos?endpoint=http://minio:9000&publicEndpoint=https://s3.example.com/';
  const own = readConfig({ STORAGE_URL: text, DELIVERY_MODE: 'proxy', INPUT_LINKS: 'presigned' });
  assert.deepEqual(own.storage, {
    kind: 's3',
    s3: {
      bucket: 'videos',
      prefix: '',
      region: 'us-east-1',
      pathStyle: true,
      endpoint: 'http://minio:9000',
      publicEndpoint: 'https://s3.example.com',
    },
  });
  assert.deepEqual([own.deliveryMode, own.presignsInputs], ['proxy', true]);
});

test('the more processes there are, the fewer database connections each has', () => {
  const read = (PROCESSES: string, own = {}) => {
    const { processes, databaseConnections } = readConfig({ PROCESSES, ...own });
    return [processes, databaseConnections];
  };
  assert.deepEqual(read('2'), [2, 24]);
  assert.deepEqual(read('4'), [4, 12]);
  assert.deepEqual(read('64'), [64, 8]);
  assert.deepEqual(read('64', { DATABASE_CONNECTIONS: '5' }), [64, 5]);
  assert.equal(read('auto')[0], availableParallelism());
  assert.throws(() => read('0'), /PROCESSES="0" is not valid: expected a whole number from 1/);
  assert.throws(() => read('all'), /PROCESSES="all" is not valid/);
});

test('useFileThreads acts before the first file is read', {
  skip: process.platform !== 'linux' && 'no /proc',
}, () => {
  const script = `
    const { useFileThreads } = await import('${new URL('config.ts', import.meta.url)}');
    useFileThreads();
    const { stat } = await import('node:fs/promises');
    const { readdirSync } = await import('node:fs');
    const threads = () => readdirSync('/proc/self/task').length;
    const before = threads();
    await Promise.all(Array.from({ length: 16 }, () => stat('.')));
    process.stdout.write(String(threads() - before));`;
  const env = { PATH: process.env.PATH };
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], { env });
  assert.equal(Number(output), 16);
});
