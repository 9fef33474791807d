import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  checkAddresses,
  checkUrl,
  isPublicAddress,
  parseAllowList,
  parseDenyList,
} from './addresses.ts';
import { OutboundError } from './refusal.ts';

const EMPTY_ALLOW_LIST = { allow: parseAllowList('') };

/** Hosts as a client may spell them, including octal, hexadecimal, decimal and short forms. */
const PRIVATE_HOSTS = [
  ['0.0.0.0', '0.1.2.3', '0', '0x0', '00'],
  ['10.0.0.1', '10.255.255.255', '012.0.0.1', '10.1', '0xa.0.0.1', '167772161'],
  ['100.64.0.1', '100.127.255.254', '100.100.100.200'],
  ['127.0.0.1', '127.1', '127.255.255.254', '0177.0.0.1', '0x7f.1', '0x7f000001', '2130706433'],
  ['017700000001', '127.0.0.1.', '①②⑦.0.0.1', '127。0。0。1', '%31%32%37.0.0.1'],
  ['169.254.0.1', '169.254.169.254', '0xA9FEA9FE', '2852039166', '0251.0376.0251.0376'],
  ['172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.257', '0300.0250.1.1'],
  ['192.0.0.1', '192.0.0.192', '192.0.2.1', '192.88.99.1', '198.51.100.1', '203.0.113.1'],
  ['192.31.196.1', '192.52.193.1', '192.175.48.1', '198.18.0.1', '198.19.255.255'],
  ['224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255', '4294967295'],
  ['168.63.129.16'],
  ['[::]', '[::1]', '[0:0:0:0:0:0:0:1]', '[::127.0.0.1]', '[::7f00:1]', '[::8.8.8.8]', '[::2]'],
  ['[fc00::1]', '[fd00:ec2::254]', '[fdff:ffff::1]', '[fe80::1]', '[febf::1]', '[fec0::1]'],
  ['[ff00::1]', '[ff02::1]', '[ff0e::1]', '[100::1]', '[100:0:0:1::1]', '[5f00::1]'],
  ['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::ffff:a9fe:a9fe]', '[::ffff:10.0.0.1]'],
  ['[::ffff:0:127.0.0.1]', '[::ffff:0:8.8.8.8]', '[::ffff:168.63.129.16]'],
  ['[64:ff9b::7f00:1]', '[64:ff9b::a00:1]', '[64:ff9b::169.254.169.254]'],
  ['[64:ff9b:1::1]', '[64:ff9b:1::808:808]', '[64:ff9b:0:0:0:1:808:808]'],
  ['[2002:7f00:1::]', '[2002:a9fe:a9fe::1]', '[2002:808:808::1]', '[2001::1]'],
  ['[2001:0:4136:e378:8000:63bf:3fff:fdd2]', '[2001:2::1]', '[2001:3::1]', '[2001:4:112::1]'],
  ['[2001:10::1]', '[2001:20::1]', '[2001:30::1]', '[2001:db8::]', '[2001:db8::1]', '[3fff::1]'],
  ['[2620:4f:8000::1]', '[4000::1]', '[1::1]', '[8000::1]', '[e000::1]'],
  ['localhost', 'LOCALHOST', 'localhost.', 'a.localhost', 'a.b.localhost.', 'ｌocalhost'],
  ['postgres', 'ai', 'intranet.', 'nas.local', 'db.internal', 'a.b.corp', 'x.lan', 'y.home.arpa.'],
].flat();

const PUBLIC_HOSTS = [
  ['1.1.1.1', '8.8.8.8', '93.184.215.14', '134744072', '0x08080808', '8.8.2056', '8.8.8.8.'],
  ['100.63.255.255', '100.128.0.1', '126.255.255.255', '128.0.0.1', '169.253.1.1', '169.255.1.1'],
  ['172.15.255.255', '172.32.0.1', '192.167.1.1', '198.17.255.255', '198.20.0.1', '223.1.1.1'],
  ['[2606:4700:4700::1111]', '[2a00:1450:4001:81b::200e]', '[2620:fe::fe]', '[2001:4860::8888]'],
  ['[::ffff:8.8.8.8]', '[64:ff9b::808:808]', '[3000::1]'],
  ['example.com', 'EXAMPLE.com', 'example.com.', 'localhost.example.com', 'notlocal.com'],
].flat();

function refusal(check: () => unknown): string {
  try {
    check();
    return 'passed';
  } catch (error) {
    assert.ok(error instanceof OutboundError, String(error));
    return error.reason;
  }
}

test(`each of ${PRIVATE_HOSTS.length} spellings of private hosts is refused without DNS`, () => {
  for (const host of PRIVATE_HOSTS) {
    const reason = refusal(() => checkUrl(`https://${host}/a.png`, EMPTY_ALLOW_LIST));
    assert.equal(reason, 'not_public', host);
    const onPort = refusal(() => checkUrl(`https://${host}:8443/a.png`, EMPTY_ALLOW_LIST));
    assert.equal(onPort, 'not_public', host);
  }
});

test(`each of ${PUBLIC_HOSTS.length} public addresses and plain names passes`, () => {
  for (const host of PUBLIC_HOSTS) {
    assert.equal(checkUrl(`https://${host}/`, EMPTY_ALLOW_LIST).protocol, 'https:', host);
  }
});

test('an address that DNS gives is checked like one in the URL', () => {
  const literals = (hosts: string[]) =>
    hosts
      .map((host) => host.replace(/^\[|\]$/g, ''))
      .filter((host) => /^\d+\.\d+\.\d+\.\d+$|:/.test(host));
  for (const address of literals(PRIVATE_HOSTS))
    assert.equal(isPublicAddress(address), false, address);
  for (const address of literals(PUBLIC_HOSTS))
    assert.equal(isPublicAddress(address), true, address);
  for (const address of ['', 'x', '0x7f.1', '2606:4700::1%eth0', 'fe80::1%eth0', '08.8.8.8']) {
    assert.equal(isPublicAddress(address), false, address);
  }
});

const REFUSED: [reason: string, urls: string[]][] = [
  [
    'malformed_url',
    `example.com /a.png //example.com/a https:// https://[::1 https:/// https://[fe80::1%25eth0]/
     https://[fe80::1%eth0]/ https://example.com:0/ https://example.com:65536/ https://./
     https://a..b/ https://example.com../ https://256.256.256.256/ https://1.2.3.4.5/
     https://a%00b/`
      .split(/\s+/)
      .concat('', 'https://exa mple.com/'),
  ],
  ['not_https', ['http://example.com/', 'ftp://example.com/', 'file:///etc/passwd', 'data:,x']],
  [
    'credentials_in_url',
    ['https://u@example.com/', 'https://u:p@example.com/', 'https://:p@example.com/'],
  ],
];

test('a URL is refused for its form, also with a public host', () => {
  for (const [reason, urls] of REFUSED) {
    const found = urls.map((url) => refusal(() => checkUrl(url, EMPTY_ALLOW_LIST)));
    assert.deepEqual(found, Array(urls.length).fill(reason));
  }
});

test('the checked URL has no trailing dot and no fragment', () => {
  const { href } = checkUrl('https://Example.COM./a?b=c#d', EMPTY_ALLOW_LIST);
  assert.equal(href, 'https://example.com/a?b=c');
});

test('a host on the allow list passes on its own port only', () => {
  const hosts = { allow: parseAllowList('localhost:8443, 127.0.0.1:9000,[::1]:443,MEDIA.test.:1') };
  const reason = (host: string) => refusal(() => checkUrl(`https://${host}/`, hosts));
  for (const host of 'localhost:8443 localhost.:8443 127.1:9000 [0::1] media.test:1'.split(' ')) {
    assert.equal(reason(host), 'passed', host);
  }
  const others = 'localhost localhost:9000 127.0.0.1:8443 [::1]:8443 127.0.0.2:9000';
  for (const host of others.split(' ')) assert.equal(reason(host), 'not_public', host);
});

test('plain http needs both the allow list and the permission', () => {
  const hosts = { allow: parseAllowList('127.0.0.1:9000,media.test:80') };
  const reason = (url: string, plainHttpWhereAllowed: boolean) =>
    refusal(() => checkUrl(url, hosts, { plainHttpWhereAllowed }));
  assert.equal(reason('http://127.0.0.1:9000/', false), 'not_https');
  for (const url of ['http://127.0.0.1:9000/', 'http://media.test/']) {
    assert.equal(reason(url, true), 'passed', url);
  }
  for (const url of ['http://media.test:81/', 'http://example.com/', 'ftp://media.test:80/']) {
    assert.equal(reason(url, true), 'not_https', url);
  }
});

test('a host with one address that is not public is refused', () => {
  const url = new URL('https://example.com:9000/');
  const failureOf = (addresses: string[], list: string) =>
    refusal(() => checkAddresses(url, addresses, { allow: parseAllowList(list) }));
  assert.equal(failureOf(['8.8.8.8', '2606:4700::1'], ''), 'passed');
  assert.equal(failureOf(['8.8.8.8', '::ffff:10.0.0.1'], ''), 'not_public');
  assert.equal(failureOf(['8.8.8.8', '10.0.0.1'], '10.0.0.1:9000'), 'passed');
  assert.equal(failureOf(['0:0:0:0:0:0:0:1'], '[::1]:9000'), 'passed');
  assert.equal(failureOf(['8.8.8.8', '10.0.0.1'], '10.0.0.1:9001'), 'not_public');
  assert.equal(failureOf(['10.0.0.1', '10.0.0.2'], '10.0.0.1:9000'), 'not_public');
  assert.equal(failureOf(['10.0.0.1', '10.0.0.2'], 'example.com:9000'), 'passed');
});

const DENY = parseDenyList('20.1.2.0/24, 20.9.9.9,2a00:1450::/32');
const DENIED =
  '20.1.2.0 20.1.2.255 20.9.9.9 2a00:1450::1 2a00:1450:ffff:: ::ffff:20.1.2.3 64:ff9b::1401:203';
const OTHERS = '20.1.1.255 20.1.3.0 20.9.9.8 2a00:1451::1 64:ff9b::1401:103';

function isDenied(address: string, allow = ''): boolean {
  const hosts = { allow: parseAllowList(allow), deny: DENY };
  const literal = `https://${address.includes(':') ? `[${address}]` : address}/`;
  const inUrl = refusal(() => checkUrl(literal, hosts));
  const name = new URL('https://media.example.com/');
  const behindName = refusal(() => checkAddresses(name, ['8.8.8.8', address], hosts));
  assert.equal(inUrl, behindName, address);
  assert.match(inUrl, /^(not_public|passed)$/);
  return inUrl === 'not_public';
}

test('a denied network is not public, in the URL and behind a name', () => {
  for (const address of DENIED.split(' ')) assert.equal(isDenied(address), true, address);
  for (const address of OTHERS.split(' ')) assert.equal(isDenied(address), false, address);
});

test('a host on the allow list may be in a denied network', () => {
  assert.equal(isDenied('20.1.2.3', '20.1.2.3:443'), false);
  assert.equal(isDenied('20.1.2.3', '20.1.2.4:443,20.1.2.3:80'), true);
});
