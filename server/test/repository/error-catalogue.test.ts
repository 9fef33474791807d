import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fastify } from 'fastify';
import { resolved } from '../../../console/docs/openapi.ts';
import { errorResponses } from '../../src/http/public/schemas.ts';
import { ERROR_STATUS, errorCodesOf, OWN_ERROR_CODES } from '../../src/kernel/errors.ts';
import { CREATE_ERRORS } from '../../src/requests/errors.ts';
import { VideoTaskSchema } from '../../src/requests/video-task.ts';
import { FAILURE_CODES } from '../../src/tasks/task.ts';
import { OPENAPI_FILE } from '../../src/write-openapi.ts';
import { product } from './sources.ts';

/** What customers read, and what operators read of the website's own API. */
const PAGES = ['customers/ERRORS.md', 'operators/console.md'];
const texts = PAGES.map((name) =>
  readFile(new URL(`../../../docs/${name}`, import.meta.url), 'utf8'),
);
const catalogue = (await Promise.all(texts)).join('\n');
const document = JSON.parse(await readFile(OPENAPI_FILE, 'utf8'));
const api = resolved(document, document);

/** The rows of the tables under a heading, as lists of cells, without the table heads. */
function rowsUnder(heading: string): string[][] {
  const [, section = ''] = catalogue.split(new RegExp(`^#+ ${heading}$`, 'm'));
  const [own = ''] = section.split(/^#/m);
  const rows = own.split('\n').filter((line) => line.startsWith('| `'));
  assert.notEqual(rows.length, 0, `there is no table under "${heading}"`);
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** The names in code type of a cell. */
function namesIn(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}

function sorted(names: Iterable<string>): string[] {
  return [...new Set(names)].sort();
}

const RESPONSES = rowsUnder('Responses of the API');
const LINKS = rowsUnder('Delivery links');
const WEBSITE = rowsUnder("Errors of the website's own API");
const FAILURES = rowsUnder('Failed tasks');
const REASONS = [...rowsUnder('reason'), ...rowsUnder('Uploads')];

test('the catalogue has every error code with its status, and no other', () => {
  const documented = [...RESPONSES, ...LINKS, ...WEBSITE].map(
    ([code, status]) => `${namesIn(code)[0]} ${status}`,
  );
  const known = Object.entries(ERROR_STATUS).map(([code, status]) => `${code} ${status}`);
  assert.deepEqual(sorted(documented), sorted(known));
});

test('the catalogue says what is charged and which key is next, in the order of the source', () => {
  const documented = RESPONSES.filter(([, , , charged]) => charged !== '–').map(
    ([code, , when, charged, retry]) => {
      return { code: namesIn(code)[0], when: namesIn(when).at(-1), charged, retry };
    },
  );
  const known = CREATE_ERRORS.map(({ when, ...row }) => ({ ...row, when }));
  const isHeld = ({ when }: { when: string | undefined }) => when === 'held';
  const decided = documented.filter((row) => !isHeld(row));
  assert.deepEqual(decided, known);
  const { when: _, ...uncertain } = known.at(-1) ?? {};
  assert.deepEqual(documented.find(isHeld), { ...uncertain, when: 'held' });
  const ofCreates = sorted(CREATE_ERRORS.map(({ code }) => code));
  const ofApi = sorted(RESPONSES.flatMap(([code]) => namesIn(code)));
  const ofOthers = ['not_found', 'method_not_allowed', ...OWN_ERROR_CODES];
  assert.deepEqual(
    ofCreates,
    ofApi.filter((code) => !ofOthers.includes(code)),
  );
});

test('the catalogue has every code of a failed task, and no other', () => {
  const named = FAILURES.map(([code]) => namesIn(code)[0]);
  assert.deepEqual(named, [...FAILURE_CODES]);
});

const ROOMS =
  /src\/(requests|http|catalog|tasks|attempts|worker|uploads|outbound|media|webhooks)\//;
const sources = product
  .filter(({ name }) => ROOMS.test(name))
  .map(({ text }) => text)
  .join('\n');
/** The places of the source that give a `reason` to clients: each match holds literals of it. */
const GIVES_REASON = [
  /\breason(?::| =)([^,;)}\n]*)/g,
  /\b(?:refuse|malformed|MediaRefused)\(\s*[^,()]+,([^,]*),/g,
  /\b(?:type OutboundRefusal|const REFUSAL_REASONS) =([^;]*);/g,
  /\bREASONS: Record<string, string> = \{([^}]*)\}/g,
];

function* reasonsInSource(): Generator<string> {
  for (const pattern of GIVES_REASON) {
    for (const [, place = ''] of sources.matchAll(pattern)) {
      for (const [, reason = ''] of place.matchAll(/'([a-z][a-z0-9_]*)'/g)) yield reason;
    }
  }
  const [, refusals = ''] = /\bREFUSALS:[^{]*= \{([^}]*)\}/.exec(sources) ?? [];
  for (const [, code = ''] of refusals.matchAll(/(\w+): 'invalid_request'/g)) yield code;
}

test('the catalogue has every value of details.reason that the source gives, and no other', () => {
  const documented = REASONS.flatMap(([reason]) => namesIn(reason));
  assert.deepEqual(sorted(documented), sorted(reasonsInSource()));
});

interface Response {
  headers: object;
  content: {
    'application/json': {
      schema: { properties: { error: { properties: { code: { enum: string[] } } } } };
    };
  };
}

const described = Object.values<Record<string, object>>(api.paths).flatMap((methods) =>
  Object.values(methods).flatMap((method) => {
    const { operationId, responses } = Object(method);
    return Object.entries<Response>(responses).map(([status, response]) => {
      return { operation: String(operationId), status: Number(status), response };
    });
  }),
);

test('openapi.json has for each error status of a route the codes with that status', () => {
  const inRoutes: string[] = [];
  for (const { status, response } of described.filter(({ status }) => status >= 400)) {
    const { code } = response.content['application/json'].schema.properties.error.properties;
    const [only] = OWN_ERROR_CODES.filter((own) => code.enum[0] === own);
    assert.deepEqual(code.enum, only ? [only] : errorCodesOf(status));
    inRoutes.push(...code.enum);
  }
  const inCatalogue = sorted(RESPONSES.flatMap(([code]) => namesIn(code)));
  // An internal error can follow any request, and a wrong method has no route.
  const possible = [...sorted(inRoutes), 'internal_error', 'method_not_allowed'].sort();
  assert.deepEqual(possible, inCatalogue);
});

test('openapi.json has the headers that a client uses, where they are sent', () => {
  for (const { operation, status, response } of described) {
    const expected = ['X-Request-Id'];
    if (operation === 'createVideo' && status === 200) expected.push('Idempotent-Replayed');
    if (operation !== 'listModels' && status !== 401) {
      expected.push('RateLimit', 'RateLimit-Policy');
    }
    if (operation === 'getTask' && status === 200) expected.push('Preference-Applied');
    if (operation === 'listModels') expected.push('ETag', 'Cache-Control');
    if (status === 401) expected.push('WWW-Authenticate');
    if (status === 429 || status === 503) expected.push('Retry-After');
    assert.deepEqual(sorted(Object.keys(response.headers)), sorted(expected));
  }
});

/** What a route with these response schemas sends for a body. */
async function sent(response: object, status: number, body: object): Promise<unknown> {
  const app = fastify();
  app.get('/', { schema: { response } }, (_request, reply) => reply.code(status).send(body));
  const sentResponse = await app.inject({ url: '/' });
  await app.close();
  return sentResponse.json();
}

test('a failed task is sent in full, also with a code that only a newer process knows', async () => {
  for (const code of [...FAILURE_CODES, 'from_tomorrow']) {
    const task = {
      id: 'task_1',
      status: 'failed',
      model: 'video-2.0',
      mode: 'text-to-video',
      credits_used: 250,
      credits_refunded: 250,
      output: null,
      error: { code, message: `"${code}" ✓` },
      created_at: '2026-11-21T00:00:00.000Z',
      updated_at: null,
    };
    assert.deepEqual(await sent({ 200: VideoTaskSchema }, 200, task), task);
    const unfailed = { ...task, error: null };
    assert.deepEqual(await sent({ 200: VideoTaskSchema }, 200, unfailed), unfailed);
  }
});

test('an error is sent in full, with any members of its details', async () => {
  const details = { reason: 'new', entry: 0, nested: { list: [1, null] }, task_id: 'task_1' };
  for (const status of [400, 503] as const) {
    const body = { error: { code: 'from_tomorrow', message: 'Something.', details } };
    assert.deepEqual(await sent(errorResponses(status), status, body), body);
  }
});
