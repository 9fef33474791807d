import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { createAccount } from '../../../server/src/accounts/accounts.ts';
import { createKey } from '../../../server/src/accounts/api-keys.ts';
import { listEndpoints } from '../../../server/src/webhooks/endpoints.ts';
import { openFaultProxy } from '../../../server/test/clients/fault-proxy.ts';
import { longTest } from '../../../server/test/long.ts';
import {
  imageBytes,
  openMediaFixture,
  videoBytes,
} from '../../../server/test/media/media-fixture.ts';
import { until } from '../../../server/test/until.ts';
import { listenOn } from '../../../simulators/kit/http-server.ts';
import { OUTCOMES } from '../src/request-options.ts';
import { endOf, FW_COMMAND, type Machine, noTerminal, openMachine } from './fw-process.ts';
import { openWatchedProxy } from './watched-proxy.ts';

const environment = { CREATE_WAIT_SECONDS: '20', RECONCILE_SECONDS: '3600' };
const fixture = await openMediaFixture({ environment });
const { db } = fixture;
const accountId = await createAccount(db, 'ada@example.com');
after(() => fixture.close());

/** A test key of its own, so that no rate window gets full. */
const newTestKey = async () => (await createKey(db, { accountId, mode: 'test' })).secret;

async function openOwnMachine(url = fixture.url) {
  return openMachine({
    FRAMEWRIGHT_BASE_URL: `${url}/api/v1`,
    FRAMEWRIGHT_API_KEY: await newTestKey(),
  });
}

const balanceOf = async (machine: Machine) => Number((await machine.fw('credits')).out);

/** Checks that the file is the video of the task. */
async function assertWhole(machine: Machine, file: string, taskId: string): Promise<void> {
  const { out } = await machine.fw('tasks', taskId, '--json');
  const video = await fetch(JSON.parse(out).output.video_url);
  assert.deepEqual(await readFile(file), Buffer.from(await video.arrayBuffer()));
}

test('a video is made by one create, which is on disk before the first byte is sent', async () => {
  const found: unknown[] = [];
  await using proxy = await openWatchedProxy(fixture.url, ({ line, stage }) => {
    if (stage !== 'received' || found.length > 0 || line.endsWith('/credits')) return undefined;
    const journal = path.join(machine.folder, '.local/state/framewright/generations');
    for (const name of readdirSync(journal))
      found.push(line, JSON.parse(readFileSync(path.join(journal, name), 'utf8')).request);
    return undefined;
  });
  await using machine = await openOwnMachine(proxy.url);
  const before = await balanceOf(machine);
  const made = await machine.fw('generate', 'A paper boat', '--duration', '4', '--yes', '--json');
  assert.deepEqual([made.code, made.err], [0, '']);
  const { file, task } = JSON.parse(made.out);
  assert.deepEqual(found, ['POST /api/v1/video/quotes', { prompt: 'A paper boat', duration: 4 }]);
  assert.equal(file, path.join(machine.folder, `${task.id}.mp4`));
  await assertWhole(machine, file, task.id);
  assert.equal(await balanceOf(machine), before - 200);
  assert.equal(proxy.lines.filter((line) => line === 'POST /api/v1/video/generations').length, 1);
  assert.deepEqual(await machine.unfinished(), []);
});

const REFERENCED = 'generate A_dance --reference a.png --reference clip.bin -y -o x.mp4';

longTest('local files are uploaded, and reference videos are measured', async () => {
  await using machine = await openOwnMachine();
  const clip = { seconds: 2, width: 640, height: 480 } as const;
  await writeFile(path.join(machine.folder, 'a.png'), await imageBytes('png'));
  await writeFile(path.join(machine.folder, 'clip.bin'), await videoBytes(clip));
  const framed = await machine.fw('quote', 'Snow', '--image', 'a.png', '--end-image', 'a.png');
  assert.equal(framed.out, '250\n', framed.err);
  const referenced = await machine.fw(...REFERENCED.split(' '));
  const printed = [referenced.code, referenced.out];
  assert.deepEqual(printed, [0, `${machine.folder}/x.mp4\n`], referenced.err);
  const [task] = JSON.parse((await machine.fw('tasks', '--json')).out);
  assert.deepEqual([task.mode, task.credits_used], ['media-to-video', (5 + 2) * 30]);
  const uploaded = await machine.fw('uploads', 'a.png', 'clip.bin');
  assert.match(uploaded.out, /^http\S+\/uploads\/obj_\w+\nhttp\S+\/uploads\/obj_\w+\n$/);
});

test('what is wrong with a command line is said before anything is sent', async () => {
  await using machine = await openOwnMachine('http://127.0.0.1:9');
  await writeFile(path.join(machine.folder, 'there.mp4'), 'mine');
  for (const [args, code, message] of [
    [['genrate'], 2, /Did you mean fw generate\?/],
    [['gnerate'], 2, /Did you mean fw generate\?/],
    [['generate'], 2, /PROMPT is missing/],
    [['generate', 'a', 'boat'], 2, /Put quotes around/],
    [['generate', 'a boat', '--imgae', 'x.png', '-y'], 2, /Unknown option '--imgae'/],
    [['generate', 'a boat', '--duration', 'long', '-y'], 2, /--duration takes a whole number/],
    [['generate', 'a boat', '--resolution', '8k', '-y'], 2, /--resolution takes 480p/],
    [['generate', 'a boat', '--image', 'no.png', '-y'], 10, /There is no file no\.png/],
    [['generate', 'a boat', '-y', '-o', 'there.mp4'], 2, /There is a file there\.mp4 already/],
    [['generate', 'a boat', '-y', '-o', 'no/b.mp4'], 10, /There is no folder/],
    [['generate', 'a boat'], 2, /--yes/],
    [['quote', 'a boat', '--reference', 'https://a.example/b.mp4'], 2, /b\.mp4#5/],
    [['listen'], 2, /--forward/],
    [['completion', 'tcsh'], 2, /bash, zsh and fish/],
  ] as const) {
    const { code: actual, err, out } = await machine.fw(...args);
    assert.deepEqual([actual, out], [code, ''], `${args}: ${err}`);
    assert.match(err, message);
  }
  assert.equal(await readFile(path.join(machine.folder, 'there.mp4'), 'utf8'), 'mine');
});

longTest('a failure has its exit code, says what was charged, and shows no key', async () => {
  await using machine = await openOwnMachine();
  for (const [args, code, error] of [
    [['generate', 'A boat, test-refused', '-y'], 6, { charged: 'refunded', retry: 'new_key' }],
    [
      ['generate', 'A boat, test-failed', '-y'],
      6,
      { code: 'provider_failed', charged: 'refunded' },
    ],
    [['generate', 'A boat, test-insufficient-credits', '-y'], 5, { charged: 'no' }],
    [['generate', 'ab', '-y'], 4, { charged: 'no', retry: 'never' }],
    [['tasks', 'task_none'], 9, { code: 'not_found' }],
  ] as const) {
    const run = await machine.fw(...args, '--json');
    assert.deepEqual([run.code, run.out], [code, ''], run.err);
    assert.partialDeepStrictEqual(JSON.parse(run.err).error, { ...error, exit_code: code });
  }
  const bytes = await videoBytes({ seconds: 2, width: 640, height: 480 });
  const clip = fixture.host.serve('/clip', { kind: 'bytes', bytes });
  const unknown = await machine.fw('generate', 'A dance', '--reference', clip, '-y');
  assert.match(unknown.err, /If it is a video, add its length in seconds to its address/);
  assert.deepEqual(await machine.unfinished(), []);
  const secret = 'fw_live_0000000000000000000000000000000000000000';
  for (const apiKey of [secret, `${secret}\n${secret}`]) {
    machine.env.FRAMEWRIGHT_API_KEY = apiKey;
    const { code, err, out } = await machine.fw('credits');
    assert.equal(code, 3);
    assert.match(err, /fw login/);
    assert.ok(!(err + out).includes(secret));
  }
});

longTest('a test of the scripted outcomes finds each one as documented', async () => {
  const url = new URL('../../../docs/customers/test-keys.md', import.meta.url);
  const page = await readFile(url, 'utf8');
  const words = [...page.matchAll(/^\| `(test-[a-z-]+)` \|/gm)].map(([, word]) => word);
  assert.deepEqual(Object.keys(OUTCOMES), words);
  let reads = 0;
  await using proxy = await openWatchedProxy(fixture.url, ({ line, stage }) => {
    const isRead = line.startsWith('GET /api/v1/tasks/') && stage === 'received';
    return isRead && reads++ === 0 ? 'cut' : undefined;
  });
  await using machine = await openOwnMachine(proxy.url);
  const quick = words.filter((word) => !/slow|held/.test(word ?? '')).map(String);
  const { code, out, err } = await machine.fw('test', ...quick);
  assert.equal(code, 0, out + err);
  assert.equal(out.match(/\tas documented$/gm)?.length, quick.length, out);
  const held = machine.fw('test', 'test-held-accepted', 'test-held-refused', 'test-slow', '--json');
  const due = setInterval(() => void fixture.database.setClock(40), 4000);
  const slow = await held;
  clearInterval(due);
  await fixture.database.setClock(0);
  assert.equal(slow.code, 0, slow.out + slow.err);
});

longTest('after a kill, two resumes at once download the rest: one task, one charge', async () => {
  let child: ReturnType<Machine['start']> | undefined;
  let isKilled = false;
  const ranges: unknown[] = [];
  await using proxy = await openWatchedProxy(fixture.url, ({ line, stage, headers }) => {
    if (!line.startsWith('GET /media/')) return undefined;
    if (stage === 'received') ranges.push(headers.range);
    if (stage !== 'half' || isKilled) return undefined;
    // What has arrived is on disk when the process dies.
    const part = readdirSync(machine.folder).find((name) => name.endsWith('.part'));
    if (part && statSync(path.join(machine.folder, part)).size > 0)
      isKilled = child?.kill('SIGKILL') === true;
    return 'cut';
  });
  await using machine = await openOwnMachine(proxy.url);
  child = machine.start('generate', 'A boat', '--yes', '-o', 'boat.mp4');
  await endOf(child);
  assert.ok(isKilled);
  assert.equal((await machine.unfinished()).length, 1);
  const again = await machine.fw('generate', 'A boat', '--yes', '-o', 'boat.mp4');
  assert.equal(again.code, 8, again.err);
  assert.match(again.err, /fw resume finishes it without paying again/);
  const runs = await Promise.all([machine.fw('resume'), machine.fw('resume')]);
  const codes = runs.map(({ code }) => code).sort();
  assert.ok(codes[0] === 0 && (codes[1] === 0 || codes[1] === 8), JSON.stringify(runs));
  assert.match(String(ranges.at(-1)), /^bytes=[1-9]/);
  const tasks = JSON.parse((await machine.fw('tasks', '--json', '--limit', '1')).out);
  await assertWhole(machine, path.join(machine.folder, 'boat.mp4'), tasks[0].id);
  assert.equal(proxy.lines.filter((line) => line === 'POST /api/v1/video/generations').length, 1);
  assert.deepEqual(await machine.unfinished(), []);
  assert.ok(!readdirSync(machine.folder).some((name) => name.endsWith('.part')));
  const nothing = await machine.fw('resume');
  assert.deepEqual([nothing.code, nothing.out, nothing.err], [0, '', '']);
});

longTest('a resume sends an unknown create to no other account and no other service', async () => {
  let isOver = false;
  await using proxy = await openWatchedProxy(fixture.url, ({ line, stage }) => {
    if (isOver || !line.endsWith('/generations') || stage !== 'answered') return undefined;
    isOver = child?.kill('SIGKILL') === true;
    return 'cut';
  });
  await using machine = await openOwnMachine(proxy.url);
  const child = machine.start('generate', 'A boat', '--yes');
  await endOf(child);
  const own = machine.env.FRAMEWRIGHT_API_KEY ?? '';
  machine.env.FRAMEWRIGHT_API_KEY = await newTestKey();
  const other = await machine.fw('resume', '--json');
  assert.deepEqual([other.code, JSON.parse(other.out)[0].error.kind], [3, 'key']);
  machine.env.FRAMEWRIGHT_API_KEY = own;
  machine.env.FRAMEWRIGHT_BASE_URL = 'http://127.0.0.1:9/api/v1';
  assert.match((await machine.fw('resume')).err, /belongs to http:\/\/127/);
  machine.env.FRAMEWRIGHT_BASE_URL = `${proxy.url}/api/v1`;
  machine.env.FRAMEWRIGHT_API_KEY = await newTestKey();
  const resumed = await machine.fw('resume', '--key-changed', '--json');
  assert.equal(resumed.code, 0, resumed.err);
  const [{ file, task }] = JSON.parse(resumed.out);
  await assertWhole(machine, file, task.id);
  const taken = await machine.fw('resume', task.id, '-o', 'again.mp4');
  assert.equal(taken.out, path.join(machine.folder, 'again.mp4\n'), taken.err);
});

longTest('a 401 leaves a killed create in doubt, and only a live process locks it', async () => {
  const plans = [{ on: 'create', times: 9, faults: [{ kind: 'drop_after_accepting' } as const] }];
  await using proxy = await openFaultProxy({ target: fixture.url, plans });
  await using machine = await openOwnMachine(proxy.url);
  const before = await balanceOf(machine);
  const child = machine.start('generate', 'A boat', '--yes', '-o', 'boat.mp4');
  await until(async () => proxy.requests.some(({ call }) => call === 'create'), Boolean);
  child.kill('SIGKILL');
  await endOf(child);
  proxy.clear();
  const refuse = { kind: 'refuse', status: 401, code: 'unauthorized' } as const;
  proxy.plan({ on: 'create', faults: [refuse] });
  const refused = await machine.fw('resume', '--json');
  const [{ error }] = JSON.parse(refused.out);
  const [entry] = await journalOf(machine);
  const refusal = [refused.code, error.charged, error.retry, error.idempotency_key];
  assert.deepEqual(refusal, [3, 'reserved', 'same_key', entry.idempotencyKey]);
  const locks = path.join(machine.folder, '.local/state/framewright/locks');
  const lock = path.join(locks, entry.idempotencyKey);
  await writeFile(lock, String(process.pid));
  assert.equal((await machine.fw('resume')).code, 8);
  const old = Date.now() / 1000 - 120;
  await utimes(lock, old, old); // its number belongs to another process now
  const resumed = await machine.fw('resume');
  assert.deepEqual([resumed.code, resumed.out], [0, path.join(machine.folder, 'boat.mp4\n')]);
  assert.equal(await balanceOf(machine), before - 250);
  assert.deepEqual(readdirSync(locks), []);
});

longTest(
  'a service that can not be reached is named with the cause: nothing was sent',
  async () => {
    const plans = [{ on: 'credits', faults: [{ kind: 'refuse', status: 301 } as const] }];
    await using proxy = await openFaultProxy({ target: fixture.url, plans });
    await using machine = await openOwnMachine(proxy.url);
    for (const [baseUrl, code, message] of [
      [`${proxy.url}/api/v1`, 2, /redirects to https:\/\/moved\.example\.com.*nothing was sent/],
      [
        'http://127.0.0.1:2/api/v1',
        7,
        /http:\/\/127\.0\.0\.1:2\/api\/v1.*ECONNREFUSED.*nothing was sent/,
      ],
      ['video.example.com', 2, /"video\.example\.com"; nothing was sent/],
      ['http://127.0.0.1/other', 2, /must be an address such as.*nothing was sent/],
      ['', 2, /no base URL.*nothing was sent/],
    ] as const) {
      machine.env.FRAMEWRIGHT_BASE_URL = baseUrl;
      const run = await machine.fw('credits', '--json');
      const { error } = JSON.parse(run.err);
      assert.deepEqual([run.code, error.exit_code, error.charged], [code, code, 'no'], run.err);
      assert.match(error.message, message);
    }
  },
);

longTest('Ctrl-C ends at once and says how to go on', async () => {
  await using machine = await openOwnMachine();
  const child = machine.start('generate', 'A boat, test-slow', '--yes');
  const ended = endOf(child);
  await until(
    async () => JSON.stringify(await journalOf(machine)),
    (text) => text.includes('"task_'),
  );
  const begin = performance.now();
  child.kill('SIGINT');
  const { code, err, out } = await ended;
  assert.ok(performance.now() - begin < 2000);
  assert.deepEqual([code, out], [130, '']);
  assert.match(err, /fw resume goes on without paying again/);
  const [{ taskId }] = await journalOf(machine);
  const cancelled = await machine.fw('cancel', taskId);
  assert.match(cancelled.out, /^(cancelled|pending)\n$/);
  const resumed = await machine.fw('resume');
  assert.equal(resumed.code, 6, resumed.err);
  assert.match(resumed.err, /The credits were refunded/);
  assert.deepEqual(await machine.unfinished(), []);
});

async function journalOf(machine: Machine) {
  const folder = path.join(machine.folder, '.local/state/framewright/generations');
  const names = await machine.unfinished();
  return Promise.all(
    names.map(async (name) => JSON.parse(await readFile(path.join(folder, name), 'utf8'))),
  );
}

longTest('in a terminal: a hidden key, a question, a bar', { skip: noTerminal }, async () => {
  const key = await newTestKey();
  await using machine = await openMachine({ FRAMEWRIGHT_BASE_URL: `${fixture.url}/api/v1` });
  const opener = path.join(machine.folder, 'browser.sh');
  await writeFile(opener, `#!/bin/sh\necho "$1" > '${machine.folder}/opened'\n`, { mode: 0o755 });
  machine.env.BROWSER = opener;
  const login = machine.inTerminal(`${FW_COMMAND} login`);
  await login.waitFor(/API key \(it is not shown\): /);
  login.type('\r');
  const opened = () => readFile(path.join(machine.folder, 'opened'), 'utf8').catch(() => '');
  assert.equal(await until(opened, Boolean), `${fixture.url}/keys\n`);
  login.type(`${key.slice(0, 5)}x\x7f${key.slice(5)}\r`);
  const shown = await login.waitFor(/Logged in/);
  assert.equal(await login.end, 0);
  assert.ok(!shown.includes(key.slice(0, 12)), shown);
  const file = path.join(machine.folder, '.config/framewright/login.json');
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  const refused = machine.inTerminal(`${FW_COMMAND} generate 'A boat'`);
  await refused.waitFor(/This video costs 250 credits; [\d]+ are available.*Make it\? \[y\/N\]/s);
  refused.type('n\r');
  assert.equal(await refused.end, 1);
  assert.deepEqual(await machine.unfinished(), []);
  const stopped = machine.inTerminal(`${FW_COMMAND} generate 'A boat'`);
  await stopped.waitFor(/Make it\?/);
  stopped.type('\x03');
  assert.equal(await stopped.end, 130);
  assert.deepEqual(await machine.unfinished(), []);
  const made = machine.inTerminal(`${FW_COMMAND} generate 'A boat' -o boat.mp4`);
  await made.waitFor(/Make it\?/);
  made.type('y\r');
  const all = await made.waitFor(/boat\.mp4\r\n/);
  assert.equal(await made.end, 0);
  assert.match(all, /making task_\w+ {2}0:\d\d.*downloading \[#+\.*\] *\d+%/s);
  const plain = machine.inTerminal(`NO_COLOR=1 ${FW_COMMAND} tasks`);
  await plain.end;
  assert.ok(!(await plain.waitFor(/completed/)).includes('\x1b[2m'));
  assert.ok(
    (await machine.inTerminal(`${FW_COMMAND} tasks`).waitFor(/completed/)).includes('\x1b[2m'),
  );
  assert.equal((await machine.fw('logout')).out, 'Logged out.\n');
  assert.equal((await machine.fw('credits')).code, 3);
});

longTest('listen relays an event, whose signature the local server can verify', async () => {
  const received: [body: string, IncomingHttpHeaders][] = [];
  await using local = createServer(async (request, response) => {
    received.push([await text(request), request.headers]);
    response.writeHead(204).end();
  });
  const url = await listenOn(local);
  await using machine = await openOwnMachine();
  const secret = (await machine.fw('listen', '--print-secret')).out.trim();
  const listen = async () => {
    const child = machine.start('listen', '--forward', `${url}/hook`);
    const ended = endOf(child);
    let shown = '';
    child.stdout.on('data', (part) => {
      shown += part;
    });
    await until(async () => shown.includes(secret));
    return { child, ended, shown: () => shown };
  };
  const killed = await listen();
  killed.child.kill('SIGKILL');
  await killed.ended;
  const endpoints = () => listEndpoints(db, accountId, 'test');
  const left = await endpoints();
  assert.equal(left.length, 1);
  const { child, ended, shown } = await listen();
  assert.deepEqual(await endpoints(), left, 'it uses what is left');
  const failed = await machine.fw('generate', 'A boat, test-failed', '--yes', '--json');
  const taskId = JSON.parse(failed.err).error.task_id;
  await until(async () => received.length, Boolean);
  child.kill('SIGINT');
  assert.equal((await ended).code, 130);
  assert.deepEqual(await endpoints(), []);
  const [body, headers] = received[0] ?? assert.fail('no event');
  const verified = new Webhook(secret).verify(body, headers as Record<string, string>);
  const event = verified as Record<string, { id?: string }>;
  assert.deepEqual([event.type, event.mode, event.data?.id], ['task.failed', 'test', taskId]);
  assert.match(shown(), new RegExp(`task.failed\t${taskId}\tevt_\\w+\t204\n`));
});
