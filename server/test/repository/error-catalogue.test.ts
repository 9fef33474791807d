import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fastify } from 'fastify';
import { errorResponses } from '../../src/http/public/schemas.ts';
import { ERROR_STATUS, errorCodesOf } from '../../src/kernel/errors.ts';
import { FAILURE_CODES, VideoTaskSchema } from '../../src/tasks/task.ts';
import { OPENAPI_FILE } from '../../src/write-openapi.ts';

const catalogue = await readFile(new URL('../../../docs/ERRORS.md', import.meta.url), 'utf8');
const api = JSON.parse(await readFile(OPENAPI_FILE, 'utf8'));

/** The rows of the tables under a heading, as their cells; the heads of the tables left out. */
function rowsUnder(heading: string): string[][] {
  const [, section = ''] = catalogue.split(new RegExp(`^#+ ${heading}$`, 'm'));
  const [own = ''] = section.split(/^#/m);
  const rows = own.split('\n').filter((line) => line.startsWith('| `'));
  assert.notEqual(rows.length, 0, `docs/ERRORS.md has no table under "${heading}"`);
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** The names that a cell has in code type. */
function namesIn(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}

function sorted(names: Iterable<string>): string[] {
  return [...new Set(names)].sort();
}

const ANSWERS = rowsUnder('Responses of the API');
const LINKS = rowsUnder('Delivery links');
const FAILURES = rowsUnder('Failed tasks');
const MEMBERS = rowsUnder('Members of details');
const REASONS = rowsUnder('reason');

test('the catalogue has every error code with its status, and no other', () => {
  const told = [...ANSWERS, ...LINKS].map(([code, status]) => `${namesIn(code)[0]} ${status}`);
  const known = Object.entries(ERROR_STATUS).map(([code, status]) => `${code} ${status}`);
  assert.deepEqual(sorted(told), sorted(known));
});

test('each row says what it cost, whether and with which key to send it again, and how soon', () => {
  for (const [code = '', status = '', when, credits = '', again, key = '', wait] of ANSWERS) {
    assert.ok(when && again, code);
    assert.match(credits, /reserved|held/, code);
    assert.match(key, /^(same|new|free|—)$/, code);
    assert.equal(wait, ['429', '503'].includes(status) ? 'yes' : 'no', code);
  }
  for (const [code = '', meaning, again, key = ''] of FAILURES) {
    assert.ok(meaning && again, code);
    assert.match(key, /^(same|new)$/, code);
  }
});

test('after an uncertain answer no row ever asks for a new key', () => {
  const uncertain = ANSWERS.filter(([, status]) => Number(status) >= 500);
  assert.deepEqual(sorted(uncertain.map((row) => row[5] ?? '')), ['same']);
  const held = uncertain.find(([, , when]) => namesIn(when).includes('held'));
  assert.match(held?.[3] ?? '', /^held/);
});

test('the catalogue has every code of a failed task, and no other', () => {
  assert.deepEqual(
    FAILURES.map(([code]) => namesIn(code)[0]),
    [...FAILURE_CODES],
  );
});

const ROOMS = ['http', 'catalog', 'tasks', 'outbound', 'media'];
const sources = (await Promise.all(ROOMS.map(readRoom))).flat().join('\n');
/** The ledger gives members of `details` too; its own `reason` is that of a transfer. */
const givingDetails = [sources, ...(await readRoom('ledger'))].join('\n');

async function readRoom(fixture: string): Promise<string[]> {
  const folder = new URL(`../../src/${fixture}/`, import.meta.url);
  const names = await readdir(folder, { recursive: true });
  const product = names.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  return Promise.all(product.map((name) => readFile(new URL(name, folder), 'utf8')));
}

/** The places of the source that give a `reason` to clients: each match holds literals of it. */
const GIVES_REASON = [
  /\breason(?::| =)([^,;)}\n]*)/g,
  /\b(?:refuse|malformed|MediaRefused)\(\s*[^,()]+,([^,]*),/g,
  /\btype (?:OutboundRefusal|RefusalReason) =([^;]*);/g,
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
  const told = REASONS.flatMap(([reason]) => namesIn(reason));
  assert.deepEqual(sorted(told), sorted(reasonsInSource()));
});

/** Kept with the task's error until it is told, as the Retry-After header. */
const TOLD_OTHERWISE = ['retry_after_seconds'];

/** The members that the source puts into `details` by name. */
function membersInSource(): string[] {
  const objects = [...givingDetails.matchAll(/\bdetails(?::| =) \{([^}]*)\}/g)];
  const members = objects.flatMap(([, text = '']) =>
    [...text.matchAll(/(?:^|,)\s*(\w+)/g)].map(([, member = '']) => member),
  );
  return members.filter((member) => !TOLD_OTHERWISE.includes(member));
}

test('the catalogue has every member of details, and none that the source does not have', () => {
  const told = MEMBERS.flatMap(([member]) => namesIn(member));
  assert.equal(new Set(told).size, told.length, 'each once');
  const mentioned = REASONS.flatMap((row) => namesIn(row.at(-1)));
  for (const member of [...membersInSource(), ...mentioned]) {
    assert.ok(told.includes(member), `${member} is not among the members of details`);
  }
  for (const member of told) assert.match(givingDetails, new RegExp(`\\b${member}\\b`), member);
});

interface Response {
  headers: Record<string, object>;
  // biome-ignore lint/suspicious/noExplicitAny: schemas of every shape
  content: { 'application/json': { schema: any } };
}

interface Described {
  operation: string;
  status: number;
  response: Response;
}

const described = Object.values<Record<string, object>>(api.paths).flatMap((methods) =>
  Object.values(methods).flatMap((method) => {
    const { operationId, responses } = Object(method);
    return Object.entries<Response>(responses).map(
      ([status, response]): Described => ({
        ...{ operation: operationId, status: Number(status) },
        response,
      }),
    );
  }),
);
const schemaOf = ({ response }: Described) => response.content['application/json'].schema;

test('openapi.json has for each error status of a route the codes with that status', () => {
  const errors = described.filter(({ status }) => status >= 400);
  for (const { status, ...answer } of errors) {
    const { code } = schemaOf({ status, ...answer }).properties.error.properties;
    assert.deepEqual(code, { type: 'string', enum: errorCodesOf(status) });
  }
  const inRoutes = sorted(errors.flatMap(({ status }) => errorCodesOf(status)));
  const inCatalogue = sorted(ANSWERS.flatMap(([code]) => namesIn(code)));
  // A fault of ours is no answer of a route's own: the contract lists it for none.
  assert.deepEqual([...inRoutes, 'internal_error'].sort(), inCatalogue);
});

test('openapi.json has the codes of a failed task wherever a task is told', () => {
  const tasks = described.filter(
    ({ operation, status }) => status < 300 && operation !== 'getCredits',
  );
  assert.equal(tasks.length, 3);
  for (const task of tasks) {
    const { error } = schemaOf(task).properties;
    assert.deepEqual(error.type, ['object', 'null']);
    assert.deepEqual(error.properties.code.enum, [...FAILURE_CODES]);
  }
});

test('openapi.json has the headers that a client acts on, where they are sent', () => {
  for (const { operation, status, response } of described) {
    const expected = ['X-Request-Id'];
    if (operation === 'createGeneration' && status === 200) expected.push('Idempotent-Replayed');
    if (status === 401) expected.push('WWW-Authenticate');
    if (status === 429 || status === 503) expected.push('Retry-After');
    assert.deepEqual(sorted(Object.keys(response.headers)), sorted(expected));
  }
});

/** What a route with these response schemas sends for a body. */
async function sent(response: object, status: number, body: object): Promise<unknown> {
  const app = fastify();
  app.get('/', { schema: { response } }, (_request, reply) => reply.code(status).send(body));
  const answer = await app.inject({ url: '/' });
  await app.close();
  return answer.json();
}

test('a failed task is told whole, also with a code that only a newer process knows', async () => {
  for (const code of [...FAILURE_CODES, 'from_tomorrow']) {
    const task = {
      ...{ id: 'task_1', status: 'failed', model: 'video-2.0', mode: 'text-to-video' },
      ...{ credits_used: 250, credits_refunded: 250, output: null },
      error: { code, message: `"${code}" ✓` },
      ...{ created_at: '2026-11-21T00:00:00.000Z', updated_at: null },
    };
    assert.deepEqual(await sent({ 200: VideoTaskSchema }, 200, task), task);
    const unfailed = { ...task, error: null };
    assert.deepEqual(await sent({ 200: VideoTaskSchema }, 200, unfailed), unfailed);
  }
});

test('an error is told whole, with whatever its details have', async () => {
  const details = { reason: 'new', entry: 0, nested: { list: [1, null] }, task_id: 'task_1' };
  for (const status of [400, 503] as const) {
    const body = { error: { code: 'from_tomorrow', message: 'Something.', details } };
    assert.deepEqual(await sent(errorResponses(status), status, body), body);
  }
});
