import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { test } from 'node:test';
import { listenOn } from '../../../simulators/kit/http-server.ts';
import { openMachine } from './fw-process.ts';

const EVIL = '\u001b]0;title\u0007\u001b[2J\u009b2Jtext\r';

test('a hostile service reaches neither the terminal nor files elsewhere', async () => {
  await using server = createServer(({ url }, response) => {
    if (url?.endsWith('/credits')) {
      response.statusCode = 400;
      return response.end(JSON.stringify({ error: { code: EVIL, message: EVIL } }));
    }
    if (url?.endsWith('/quotes')) {
      return response.end(JSON.stringify({ credits: EVIL, enough: true, available_credits: EVIL }));
    }
    const video_url = 'http://127.0.0.1:9/video';
    const shown = { status: 'completed', mode: EVIL, model: EVIL, created_at: EVIL };
    const task = { id: `../evil${EVIL}`, output: { video_url }, ...shown };
    return response.end(JSON.stringify(task));
  });
  await using machine = await openMachine({
    FRAMEWRIGHT_BASE_URL: `${await listenOn(server)}/api/v1`,
    FRAMEWRIGHT_API_KEY: 'fw_test_0000000000000000000000000000000000000000',
  });
  for (const command of [
    ['credits'],
    ['credits', '--json'],
    ['quote', 'A boat'],
    ['quote', 'A boat', '--json'],
    ['tasks', 'task_1'],
    ['tasks', 'task_1', '--json'],
    ['generate', 'A boat', '--yes'],
    ['resume', '--list'],
  ]) {
    const { out, err } = await machine.fw(...command);
    assert.match(out + err, /text|unknown|evil|A boat/, command.join(' '));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    assert.doesNotMatch(out + err, /[\0-\x08\x0b-\x1f\x7f-\x9f]/, command.join(' '));
  }
  assert.ok(!existsSync(path.join(machine.folder, '../evil.mp4')));
  const { err } = await machine.fw('resume');
  assert.match(err, /Not the id of a task/);
});
