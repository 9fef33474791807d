import assert from 'node:assert/strict';
import test from 'node:test';
import { tileBoxes } from './tiles.ts';

test('boxes stay inside their area and do not overlap, for any number of them', () => {
  const area = { x: 40, y: 20, width: 1000, height: 500 };
  for (let count = 1; count <= 12; count++) {
    const boxes = tileBoxes(count, area, 10);
    assert.equal(boxes.length, count);
    for (const [index, box] of boxes.entries()) {
      assert.ok(box.x >= 40 && box.x + box.width <= 1040, `${count}: ${JSON.stringify(box)}`);
      assert.ok(box.y >= 20 && box.y + box.height <= 520, `${count}: ${JSON.stringify(box)}`);
      for (const other of boxes.slice(index + 1)) {
        const beside = Math.abs(box.x - other.x) >= box.width;
        assert.ok(beside || Math.abs(box.y - other.y) >= box.height, `${count} overlap`);
      }
    }
  }
});
