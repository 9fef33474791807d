import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { Value } from 'typebox/value';
import { resolved } from '../../../../console/docs/openapi.ts';
import { openTestApp } from '../../../test/app.ts';
import { OPENAPI_FILE, openApiText } from '../../write-openapi.ts';

const text = await readFile(OPENAPI_FILE, 'utf8');
const document = JSON.parse(text);
const api = resolved(document, document);

test('openapi.json is up to date (npm run openapi writes it)', async () => {
  assert.equal(text, await openApiText());
  assert.equal(text, await openApiText(), 'the same text each time');
});

interface Described {
  /** The body of an upload is no JSON. */
  content?: {
    'application/json'?: {
      schema: object;
      example?: unknown;
      examples?: Record<string, { value: unknown }>;
    };
  };
}

test('each body and each response has an example that fits its schema', () => {
  for (const [path, methods] of Object.entries<Record<string, unknown>>(api.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const { requestBody, responses } = Object(operation);
      const described: [string, Described][] = Object.entries(responses);
      if (requestBody !== undefined) described.push(['body', requestBody]);
      for (const [name, { content }] of described) {
        const json = content?.['application/json'];
        if (json === undefined) continue;
        const { schema, example, examples } = json;
        const where = `${method} ${path} ${name}`;
        const shown = examples ? Object.values(examples).map(({ value }) => value) : [example];
        assert.ok(shown.length > 0 && !shown.includes(undefined), `${where} has no example`);
        for (const one of shown) assert.deepEqual(Value.Errors(schema, one), [], where);
      }
    }
  }
});

test('GET /openapi.json needs no key, and lists each operation’s response to a body over 64 KiB', async () => {
  const served = await openTestApp();
  assert.deepEqual((await served.app.inject('/openapi.json')).json(), document);
  const compressed = await fetch(`${served.url}/openapi.json`); // it accepts gzip
  assert.equal(compressed.headers.get('content-encoding'), 'gzip');
  assert.deepEqual(await compressed.json(), document);
  const customer = await served.customer(0);
  const wrong: string[] = [];
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, { responses }] of Object.entries<{ responses: object }>(Object(methods))) {
      if (method === 'get') continue;
      const response = await customer.send({
        method: method.toUpperCase() as 'POST',
        url: path.replace(/\{\w+\}/g, 'abc'),
        headers: { 'content-type': 'application/json', 'idempotency-key': 'k' },
        payload: JSON.stringify({ prompt: 'x'.repeat(2 ** 16) }),
      });
      if (!(response.status in responses)) wrong.push(`${method} ${path} ${response.status}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test('the patterns of openapi.json mean the same to ECMAScript, Python and Go', () => {
  const patterns = [...text.matchAll(/"pattern": (".*")/g)].map(([, one = '']) => JSON.parse(one));
  assert.ok(patterns.length > 5);
  for (const pattern of patterns) {
    assert.doesNotThrow(() => new RegExp(pattern));
    // \p needs the flag u, \d and \w are Unicode in Python, and Go has no look-around.
    assert.doesNotMatch(pattern, /\\[^x.]|\(\?/, pattern);
  }
});

/** The members that have no description, of a schema and of all schemas in it. */
function undescribed(schema: unknown, where: string): string[] {
  const { properties, items, anyOf = [] } = Object(schema);
  const members = Object.entries(Object(properties)).flatMap(([name, member]) => [
    ...(Object(member).description === undefined ? [`${where}.${name}`] : []),
    ...undescribed(member, `${where}.${name}`),
  ]);
  const others = [...(items === undefined ? [] : [items]), ...anyOf];
  return [...members, ...others.flatMap((one) => undescribed(one, `${where}[]`))];
}

test('each field, parameter and header of openapi.json has a description', () => {
  const { schemas, headers } = document.components;
  const missing = Object.entries(schemas).flatMap(([name, one]) => undescribed(one, name));
  for (const [name, { description }] of Object.entries<{ description?: string }>(headers)) {
    if (description === undefined) missing.push(name);
  }
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const { parameters = [] } of Object.values<{ parameters?: object[] }>(Object(methods))) {
      for (const parameter of parameters) {
        const { name, description } = Object(parameter);
        if (description === undefined) missing.push(`${path} ${name}`);
      }
    }
  }
  assert.deepEqual(missing, []);
});
