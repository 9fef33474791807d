import type { FrameSize } from '../frame-size.ts';

export interface Box extends FrameSize {
  x: number;
  y: number;
}

/**
 * Splits an area into `count` equal boxes with gaps between them, in the grid that gives the
 * largest boxes for pictures of about 4:3. A row that is not full is centred.
 */
export function tileBoxes(count: number, area: Box, gap: number): Box[] {
  const columns = bestColumns(count, area);
  const rows = Math.ceil(count / columns);
  const width = Math.floor((area.width - gap * (columns - 1)) / columns);
  const height = Math.floor((area.height - gap * (rows - 1)) / rows);
  return Array.from({ length: count }, (_, index) => {
    const row = Math.floor(index / columns);
    const inRow = Math.min(columns, count - row * columns);
    const indent = ((columns - inRow) * (width + gap)) / 2;
    const x = area.x + indent + (index % columns) * (width + gap);
    return { x: Math.round(x), y: area.y + row * (height + gap), width, height };
  });
}

function bestColumns(count: number, area: FrameSize): number {
  const usableSide = (columns: number) =>
    Math.min(area.width / columns / 4, area.height / Math.ceil(count / columns) / 3);
  const choices = Array.from({ length: count }, (_, index) => index + 1);
  return choices.reduce((best, next) => (usableSide(next) > usableSide(best) ? next : best));
}
