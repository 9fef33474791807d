import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import path from 'node:path';
import { test } from 'node:test';
import {
  openVirtualEnvironment,
  withoutPython,
} from '../../../clients/python/test/virtual-environment.ts';
import { closeServer, listenOn } from '../../../simulators/kit/http-server.ts';
import { createAccount } from '../../src/accounts/accounts.ts';
import { createKey } from '../../src/accounts/api-keys.ts';
import { openMediaFixture } from '../media/media-fixture.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** Requests per operation, in each of the phases that draw them. */
const EXAMPLES = 100;

const VERSION = '4.32.5';
// Without `positive_data_acceptance`: rules of modes, hosts and files are not in the schemas.
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'negative_data_rejection',
  'missing_required_header',
  'ignored_auth',
  'use_after_free',
  'ensure_resource_availability',
];
/** A body that breaks its schema may also be too large. */
const SETTINGS = '[checks]\nnegative_data_rejection.expected-statuses = ["4xx"]\n';
const KEY = 'fw_test_of_the_run';
/** An API key takes 30 in a minute. */
const REQUESTS_PER_KEY = 29;

/** A way to the service on which `KEY` is a test key whose rate window has room. */
async function openProxy(target: string, newKey: () => Promise<string>) {
  let key = newKey();
  let requests = 0;
  const server = createServer(async (received, response) => {
    const headers = { ...received.headers };
    if (headers.authorization === `Bearer ${KEY}`) {
      if (requests % REQUESTS_PER_KEY === 0) key = newKey();
      requests += 1;
      headers.authorization = `Bearer ${await key}`;
    }
    const { method, url } = received;
    const sent = request(target + url, { method, headers }, (given) => {
      response.writeHead(given.statusCode ?? 500, given.headers);
      given.pipe(response);
    });
    sent.on('error', () => response.destroy());
    received.pipe(sent);
  });
  const url = await listenOn(server);
  return {
    url,
    [Symbol.asyncDispose]: () => closeServer(server),
  };
}

test('every response to what Schemathesis invents is one that openapi.json describes', {
  skip: withoutPython,
}, async () => {
  const fixture = await openMediaFixture({ environment: { PROVIDER: 'local' } });
  try {
    const accountId = await createAccount(fixture.db, 'ada@example.com');
    const newKey = async () => (await createKey(fixture.db, { accountId, mode: 'test' })).secret;
    await using proxy = await openProxy(fixture.url, newKey);
    await using folder = await temporaryFolder();
    await writeFile(path.join(folder.path, 'schemathesis.toml'), SETTINGS);
    await using python = await openVirtualEnvironment([`schemathesis==${VERSION}`]);
    const options = [
      `--url=${proxy.url}`,
      `--header=Authorization: Bearer ${KEY}`,
      `--checks=${CHECKS.join(',')}`,
      `--max-examples=${EXAMPLES}`,
      '--continue-on-failure',
      '--no-color',
    ];
    const address = `${fixture.url}/openapi.json`;
    const report = await python.run('schemathesis', ['run', address, ...options], {
      cwd: folder.path, // where it keeps what failed
    });
    console.log(report.slice(report.indexOf(' SUMMARY ')));
    assert.match(report, /Tested: 22\n/);
  } finally {
    await fixture.close();
  }
});
