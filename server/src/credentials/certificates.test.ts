import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { openTestDatabase } from '../../test/database.ts';
import { sql } from '../../test/task-fixtures.ts';
import { readCertificate } from './certificate.ts';
import { allCertificates, openCertificate } from './certificates.ts';
import { makeCertificate } from './make-certificate.ts';

const { db } = await openTestDatabase();
const YEAR_MS = 365.25 * 86_400_000;
const NOW = Date.now();
const DAY_MS = 86_400_000;
const MADE = makeCertificate(new Date(NOW - DAY_MS), new Date(NOW + DAY_MS));

test('processes share the certificate that one of them made, and its successor', async () => {
  let nowMs = NOW;
  const open = () => openCertificate({ db, given: undefined, now: () => nowMs });
  const opened = await Promise.all([open(), open(), open()]);
  const signing = () => new Set(opened.map(({ current }) => current().fingerprint));
  const [first] = signing();
  assert.equal(signing().size, 1);
  nowMs = NOW + 4.9 * YEAR_MS;
  await Promise.all(opened.map(({ refresh }) => refresh()));
  assert.deepEqual(signing(), new Set([first]));
  nowMs = NOW + 5.1 * YEAR_MS;
  await Promise.all(opened.map(({ refresh }) => refresh()));
  assert.equal(signing().size, 1);
  assert.ok(!signing().has(first ?? ''));
  assert.equal((await allCertificates(db)).length, 2, 'the first one still verifies');
  nowMs = NOW;
  const { current } = await open();
  assert.equal(current().fingerprint, first, 'after a clock was ahead for a time');
});

test('a certificate of the operator is stored for `verify`, without its key', async () => {
  const given = readCertificate(MADE, new Date(NOW));
  const { current } = await openCertificate({ db, given, now: () => NOW });
  assert.equal(current(), given);
  const all = await allCertificates(db);
  assert.ok(all.some(({ fingerprint }) => fingerprint === given.fingerprint));
  const select = 'select made, private_key from signing_certificates where made is null';
  const stored = await sql(db, select);
  assert.deepEqual(stored, [{ made: null, private_key: null }]);
});

test('files that can not sign are refused with advice', () => {
  const other = makeCertificate(new Date(NOW - DAY_MS), new Date(NOW + DAY_MS));
  const curve = generateKeyPairSync('ec', { namedCurve: 'secp256k1' });
  const [, root = ''] = MADE.chain.split(/(?<=-----END CERTIFICATE-----\n)/);
  const { privateKey } = MADE;
  const cases: [{ chain: string; privateKey: string }, RegExp][] = [
    [{ ...MADE, chain: 'no certificate' }, /has no certificate in PEM/],
    [{ ...MADE, chain: MADE.chain.replace('MII', 'xxx') }, /can not be read/],
    [{ ...MADE, privateKey: 'no key' }, /expected PEM without a passphrase/],
    [{ ...MADE, privateKey: other.privateKey }, /not that of the first certificate/],
    [{ chain: root, privateKey }, /not that of the first certificate/],
    [
      makeCertificate(new Date(NOW - DAY_MS), new Date(NOW - 1000)),
      /expired on .*: give the renewed/,
    ],
    [
      makeCertificate(new Date(NOW + DAY_MS), new Date(NOW + 2 * DAY_MS)),
      /check this machine's clock/,
    ],
    [
      makeCertificate(new Date(NOW - DAY_MS), new Date(NOW + DAY_MS), curve),
      /secp256k1.*expected P-256/,
    ],
  ];
  for (const [files, message] of cases) {
    assert.throws(() => readCertificate(files, new Date(NOW)), { name: 'UsageError', message });
  }
});
