import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { TARGETS } from '../../../bench/targets.ts';

/** How the documents spell the targets: those of the rows of a table, in this order. */
const ROWS: Record<string, string[]> = {
  'bench/README.md': [
    `ratio >= ${TARGETS.create} with 32 clients, >= ${TARGETS.manyCreate} with 128`,
    `ratio >= ${TARGETS.read}`,
    `p99 <= ${TARGETS.waitingReadsMilliseconds} ms`,
    `>= ${TARGETS.endToEnd} tasks/s, ratio >= ${TARGETS.endToEndRatio}, CPU of one task <= ${TARGETS.endToEndCpu} of the floor's`,
    `ratio >= ${TARGETS.ingest}, growth < ${TARGETS.growthMegabytes} MB`,
    `ratio <= ${TARGETS.growth}`,
    `< ${TARGETS.idlePercent} %, < ${TARGETS.idleMegabytes} MB`,
  ],
  'docs/performance.md': [
    `>= ${TARGETS.create},`,
    `>= ${TARGETS.manyCreate},`,
    `>= ${TARGETS.read},`,
    `>= ${TARGETS.endToEnd}, not met; ratio >= ${TARGETS.endToEndRatio},`,
    `ratio <= ${TARGETS.endToEndCpu},`,
    `>= ${TARGETS.ingest},`,
    `< ${TARGETS.growthMegabytes} MB,`,
    `<= ${TARGETS.growth},`,
    `<= ${TARGETS.waitingReadsMilliseconds} ms,`,
    `< ${TARGETS.idlePercent} %`,
    `< ${TARGETS.idleMegabytes} MB,`,
  ],
};

for (const [file, targets] of Object.entries(ROWS)) {
  test(`${file} has the targets of the benchmark`, async () => {
    const text = await readFile(new URL(`../../../${file}`, import.meta.url), 'utf8');
    const rows = text.split('\n').filter((line) => line.startsWith('|'));
    let from = 0;
    for (const target of targets) {
      const found = rows.findIndex((row, i) => i >= from && row.includes(`| ${target}`));
      assert.ok(found >= 0, `no row from the ${from + 1}th on has the target ${target}`);
      from = found + 1;
    }
  });
}
