import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { withoutPython } from '../../../clients/python/test/virtual-environment.ts';
import { pagesWithTables } from '../../src/write-tables.ts';
import { longTest } from '../long.ts';
import { ROOT } from '../repository/sources.ts';
import { openReaders, type Reader, samplesOfPage, type Tool } from './reader.ts';

const GUIDES = path.join(ROOT, 'docs/customers');
const NO_CURL = spawnSync('curl', ['--version']).error ? 'curl is not installed' : false;

const readers = await openReaders();
after(() => readers.close());

/** The samples of a guide in a tab, in their order. */
const samplesOf = (guide: string, tab: Tool) =>
  samplesOfPage(`docs/customers/${guide}`)
    .filter(({ info }) => info.endsWith(` tab=${tab}`))
    .map(({ text }) => text);

/** Tests of the guides that have samples in a tab. */
function testGuides(
  tool: Tool,
  skip: string | false,
  run: (reader: Reader, samples: string[]) => Promise<unknown>,
): void {
  const all = readdirSync(GUIDES).filter((name) => name.endsWith('.md'));
  const guides = all.filter((guide) => samplesOf(guide, tool).length > 0);
  for (const [i, guide] of guides.entries()) {
    const samples = samplesOf(guide, tool);
    (i === 0 ? test : longTest)(`the samples of ${guide} work with ${tool}`, { skip }, async () => {
      await run(await readers.newReader(), samples);
    });
  }
}

/** One after the other: a later sample may read the task that an earlier one has made. */
const inTurn = (tool: Tool) => async (reader: Reader, samples: string[]) => {
  for (const sample of samples) {
    const isNew = /cancel/.test(sample) || (/\bTASK\b|task_id/.test(sample) && !reader.env.TASK);
    const prompt = sample.includes('cancel') ? 'A boat, test-slow' : 'A boat';
    if (isNew) reader.env.TASK = await reader.newTask(prompt);
    const printed = await reader.run(tool, sample.replace(/^TASK=.*$/m, ''));
    const task = /\b(task_\w+)/.exec(printed)?.[1];
    if (task) reader.env.TASK = task;
  }
};

/** As one program: a later sample uses what an earlier one has set. */
const together = (tool: Tool) => (reader: Reader, samples: string[]) =>
  reader.run(tool, samples.join('\n'));

testGuides('curl', NO_CURL, inTurn('curl'));
testGuides('TypeScript', false, together('TypeScript'));
testGuides('Python', withoutPython, together('Python'));
testGuides('fw', false, inTurn('fw'));
testGuides('MCP', false, inTurn('MCP'));

test('the tables in pages are fresh: npm run docs', async () => {
  for (const { file, text } of await pagesWithTables()) {
    assert.equal(readFileSync(file, 'utf8'), text);
  }
});
