import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { longTest } from '../../test/long.ts';
import { newWebhookSecret, signatureHeaders } from './signature.ts';

interface Delivery {
  what: string;
  secret: string;
  headers: Record<string, string>;
  body: string;
  isGenuine: boolean;
}

const page = readFileSync(new URL('../../../docs/customers/webhooks.md', import.meta.url), 'utf8');

/** The program that the page for customers shows in a tab. */
function programOf(tab: string): string {
  const [, program] = new RegExp(`^\`\`\`\\w+ tab=${tab}\n(.*?)^\`\`\``, 'ms').exec(page) ?? [];
  assert.ok(program, `docs/customers/webhooks.md has a program for ${tab}`);
  return program;
}

/** Deliveries that a verifier must accept or refuse. */
function deliveries(): Delivery[] {
  const [secret, other] = [newWebhookSecret(), newWebhookSecret()];
  const body = '{"prompt":"Bühne \u{1f3ac}"}';
  const timestamp = Math.floor(Date.now() / 1000);
  const message = { eventId: 'evt_1', timestamp, body };
  const headers: Record<string, string> = signatureHeaders(message, [other, secret]);
  const old = signatureHeaders({ ...message, timestamp: timestamp - 400 }, [secret]);
  const signatures = headers['webhook-signature'] ?? '';
  const changes = [
    { 'webhook-id': 'evt_2' },
    { 'webhook-timestamp': String(timestamp + 1) },
    { 'webhook-timestamp': 'now' },
    { 'webhook-signature': '' },
    { 'webhook-signature': 'v1,ü' },
    { 'webhook-signature': signatures.replaceAll('v1,', 'v2,') },
  ];
  const good = { what: 'of a secret', secret, headers, body, isGenuine: true };
  const bad = { ...good, isGenuine: false };
  return [
    good,
    { ...good, what: 'of the other secret', secret: other },
    { ...bad, what: 'of a foreign secret', secret: newWebhookSecret() },
    { ...bad, what: 'another body', body: `${body} ` },
    { ...bad, what: 'an old delivery', headers: { ...old } },
    { ...bad, what: 'no headers', headers: {} },
    ...changes.map((change) => ({
      ...bad,
      what: JSON.stringify(change),
      headers: { ...headers, ...change },
    })),
  ];
}

test('the verifier in Node on the page for customers accepts our signatures and no others', async () => {
  const url = `data:text/javascript,${encodeURIComponent(programOf('Node'))}`;
  const { isGenuine } = (await import(url)) as {
    isGenuine(secret: string, headers: Record<string, string>, body: string): boolean;
  };
  for (const { what, secret, headers, body, isGenuine: expected } of deliveries()) {
    assert.equal(isGenuine(secret, headers, body), expected, what);
  }
});

interface Language {
  tab: string;
  /** Prints the version of its compiler or interpreter. */
  version: [string, ...string[]];
  /** Gets the program of the page, followed by `ask`, which calls it. */
  file: string;
  ask: string;
  compile?: [string, ...string[]];
  run: [string, ...string[]];
}

/** Each `ask` reads lines of five texts in base64: secret, id, timestamp, signatures, body. */
const LANGUAGES: Language[] = [
  {
    tab: 'Python',
    version: ['python3', '--version'],
    file: 'ask.py',
    ask: `
import sys
for line in sys.stdin:
    secret, event_id, timestamp, signatures, body = (base64.b64decode(part) for part in line.split(";"))
    names = {"webhook-id": event_id, "webhook-timestamp": timestamp, "webhook-signature": signatures}
    headers = {name: value.decode() for name, value in names.items()}
    print(str(is_genuine(secret.decode(), headers, body)).lower())`,
    run: ['python3', 'ask.py'],
  },
  {
    tab: 'Go',
    version: ['go', 'version'],
    file: 'ask.go',
    ask: `
func main() {
	input, _ := io.ReadAll(os.Stdin)
	for _, line := range strings.Fields(string(input)) {
		texts := []string{}
		for _, part := range strings.Split(line, ";") {
			text, _ := base64.StdEncoding.DecodeString(part)
			texts = append(texts, string(text))
		}
		fmt.Println(isGenuine(texts[0], texts[1], texts[2], texts[3], []byte(texts[4])))
	}
}`,
    compile: ['go', 'build', '-o', 'ask', 'ask.go'],
    run: ['./ask'],
  },
  {
    tab: 'Java',
    version: ['javac', '-version'],
    file: 'Ask.java',
    ask: `
class Ask {
  public static void main(String[] arguments) throws Exception {
    for (String line : new String(System.in.readAllBytes()).split("\\n")) {
      byte[][] texts = new byte[5][];
      String[] parts = line.split(";", -1);
      for (int at = 0; at < 5; at++) texts[at] = Base64.getDecoder().decode(parts[at]);
      System.out.println(Delivery.isGenuine(new String(texts[0]), new String(texts[1]),
          new String(texts[2]), new String(texts[3]), texts[4]));
    }
  }
}`,
    compile: ['javac', 'Ask.java'],
    run: ['java', '-cp', '.', 'Ask'],
  },
  {
    tab: 'Ruby',
    version: ['ruby', '--version'],
    file: 'ask.rb',
    ask: `
STDIN.each_line { |line| puts genuine?(*line.chomp.split(";", -1).map { |part| part.unpack1("m") }) }`,
    run: ['ruby', 'ask.rb'],
  },
  {
    tab: 'PHP',
    version: ['php', '--version'],
    file: 'ask.php',
    ask: `
while ($line = fgets(STDIN)) {
    $texts = array_map('base64_decode', explode(';', trim($line)));
    echo is_genuine(...$texts) ? 'true' : 'false', "\\n";
}`,
    run: ['php', 'ask.php'],
  },
];

const base64 = (text = '') => Buffer.from(text).toString('base64');

const lineOf = ({ secret, headers, body }: Delivery): string =>
  [secret, headers['webhook-id'], headers['webhook-timestamp'], headers['webhook-signature'], body]
    .map(base64)
    .join(';');

for (const [i, { tab, version, file, ask, compile, run }] of LANGUAGES.entries()) {
  const [program, ...options] = version;
  const skip = spawnSync(program, options).status !== 0 && `there is no ${program}`;
  (i === 0 ? test : longTest)(`the verifier in ${tab} on that page does too`, { skip }, () => {
    const cwd = mkdtempSync(path.join(tmpdir(), 'verifier-'));
    try {
      const text = programOf(tab).replace('import (\n', 'import (\n\t"fmt"\n\t"io"\n\t"os"\n');
      writeFileSync(path.join(cwd, file), text + ask);
      const cases = deliveries();
      const input = cases.map(lineOf).join('\n');
      let output = '';
      for (const [command, ...given] of compile ? [compile, run] : [run]) {
        const ran = spawnSync(command, given, { cwd, input, encoding: 'utf8' });
        assert.equal(ran.status, 0, ran.stderr);
        output = ran.stdout;
      }
      assert.deepEqual(
        output.trim().split('\n'),
        cases.map(({ isGenuine }) => String(isGenuine)),
      );
    } finally {
      rmSync(cwd, { recursive: true });
    }
  });
}
