import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { ApiError } from '../kernel/errors.ts';
import { canonicalJson, fingerprintOf, type Json, parseBody } from './bodies.ts';

function parse(text: string): Json {
  return parseBody(Buffer.from(text));
}

/** The details of the 400 that is the response to these bytes. */
function refusal(bytes: string | Uint8Array): unknown {
  try {
    parseBody(Buffer.from(bytes));
  } catch (error) {
    assert.ok(error instanceof ApiError);
    assert.equal(error.code, 'invalid_request');
    return error.details;
  }
  return assert.fail('the body was not refused');
}

// RFC 8785, section 3.2.2 and its output in section 3.2.4.
test("the example of RFC 8785 gives the RFC's bytes", () => {
  const text = String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`;
  const expected =
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
    String.raw`"string":"€$\u000f\nA'B\"\\\\\"/"}`;
  assert.equal(canonicalJson(parse(text)), expected);
});

// RFC 8785, section 3.2.3.
test('members are sorted by UTF-16 code units, at every level', () => {
  const text = String.raw`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew",
    "1":"One","\ud83d\ude00":"Emoji","\u0080":"Control","\u00f6":"Latin"}`;
  const parsed = JSON.parse(canonicalJson({ nested: parse(text) }));
  // JSON.parse puts "1" first itself, so this key does not test the sort; the others do.
  const order = ['One', 'Carriage Return', 'Control', 'Latin', 'Euro Sign', 'Emoji', 'Hebrew'];
  assert.deepEqual(Object.values(parsed.nested), order);
  assert.match(canonicalJson(parse(text)), /^\{"\\r":"Carriage Return","1":"One"/);
});

// RFC 8785, appendix B.
test('numbers are written as the RFC requires', () => {
  const numbers = [
    ['-0', '0'],
    ['5e-324', '5e-324'],
    ['-1.7976931348623157e308', '-1.7976931348623157e+308'],
    ['9007199254740992', '9007199254740992'],
    ['295147905179352830000', '295147905179352830000'],
    ['9.999999999999997e22', '9.999999999999997e+22'],
    ['1e21', '1e+21'],
    ['999999999999999900000', '999999999999999900000'],
    ['0.000001', '0.000001'],
    ['333333333.33333325', '333333333.33333325'],
    ['5.0', '5'],
    ['50e-1', '5'],
  ];
  for (const [given = '', canonical] of numbers) {
    assert.equal(canonicalJson(parse(given)), canonical, given);
  }
});

test('a fingerprint is the SHA-256 of the canonical text', () => {
  const expected = createHash('sha256').update('{"a":[1,"x"],"b":null}').digest('hex');
  assert.equal(fingerprintOf(parse('{"b":null, "a":[1.0,"\\u0078"]}')).toString('hex'), expected);
});

/** The same value with the members of each object in reverse order. */
function otherSpelling(value: Json): Json {
  if (Array.isArray(value)) return value.map(otherSpelling);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([key, member]) => [key, otherSpelling(member)]);
  return Object.fromEntries(members.reverse());
}

const anyJson = fc
  .json({ maxDepth: 4 })
  .map((text) => text.replaceAll('\\u0000', 'x'))
  .filter((text) => JSON.stringify(JSON.parse(text)).isWellFormed())
  .filter((text) => !/\\u0000|\\ud[89a-f]/i.test(text));

test('key order and white space do not matter in any body', async () => {
  await fc.assert(
    fc.property(anyJson, (text) => {
      const value = parse(text);
      const respelled = parse(JSON.stringify(otherSpelling(value), null, '\t'));
      assert.deepEqual(fingerprintOf(respelled), fingerprintOf(value));
    }),
  );
});

test('canonical text parses to the same value, so unequal bodies have unequal fingerprints', async () => {
  await fc.assert(
    fc.property(anyJson, (text) => {
      const withoutSigns = JSON.parse(text, (_key, member) => (member === 0 ? 0 : member));
      assert.deepEqual(JSON.parse(canonicalJson(parse(text))), withoutSigns);
    }),
  );
});

test('an explicit default, another type and another order of a list make another body', () => {
  const bodies = [
    '{}',
    '{"seed":1}',
    '{"seed":"1"}',
    '{"seed":null}',
    '[1,2]',
    '[2,1]',
    '[]',
    '""',
  ];
  const fingerprints = bodies.map((text) => fingerprintOf(parse(text)).toString('hex'));
  assert.equal(new Set(fingerprints).size, bodies.length);
});

test('a body that is not strict UTF-8 is refused: stray bytes, overlong forms, encoded surrogates', () => {
  for (const hex of ['22ff22', '22c0af22', '22e28222', '22eda08022', '22f490808022', 'fffe2200']) {
    assert.deepEqual(refusal(Buffer.from(hex, 'hex')), { field: 'body', reason: 'not_utf8' });
  }
});

test('a body that is not JSON is refused: empty, a byte order mark, comments, NaN, two values', () => {
  for (const text of ['', ' ', '\ufeff{}', '{"a":1,}', "{'a':1}", '{}{}', 'NaN', '01', '{"a":1']) {
    assert.deepEqual(refusal(text), { field: 'body', reason: 'not_json' }, text);
  }
});

test('U+0000 and lone surrogates are refused everywhere, and the error names the field', () => {
  const reason = 'invalid_character';
  assert.deepEqual(refusal('{"prompt":"a\\u0000b"}'), { field: 'prompt', reason });
  assert.deepEqual(refusal('{"urls":["x","\\ud800"]}'), { field: 'urls', entry: 1, reason });
  assert.deepEqual(refusal('{"a":{"b":["\\udc00\\ud800"]}}'), { field: 'a', reason });
  assert.deepEqual(refusal('{"\\u0000":1}'), { field: 'body', reason });
  assert.deepEqual(parse('"\\ud83d\\ude00"'), '😀');
});

test('numbers beyond the range of doubles are refused; numbers too close to zero become zero', () => {
  const reason = 'number_out_of_range';
  assert.deepEqual(refusal('{"seed":1e400}'), { field: 'seed', reason });
  assert.deepEqual(refusal('{"list":[1,-1e309]}'), { field: 'list', entry: 1, reason });
  assert.equal(parse('1e-400'), 0);
});

test('32 levels of nesting are read and 33 are refused, lists and objects alike', () => {
  const lists = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  const objects = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
  for (const nested of [lists, objects]) {
    parse(nested(32));
    assert.equal(Object(refusal(nested(33))).reason, 'too_deep');
  }
  assert.equal(Object(refusal(lists(30_000))).reason, 'too_deep');
});
