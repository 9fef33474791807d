import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** A font file and the widths of its characters. */
export interface Font {
  path: string;
  /** Width of a character in ems (fractions of the font size), or null if the font lacks it. */
  widthOf(codePoint: number): number | null;
}

/** Loads the text font, DejaVu Sans, from its npm package. */
export function loadFont(): Font {
  const path = createRequire(import.meta.url).resolve('dejavu-fonts-ttf/ttf/DejaVuSans.ttf');
  const bytes = readFileSync(path);
  const tables = tablesOf(bytes);
  const glyphOf = characterMap(tables('cmap'));
  const unitsPerEm = tables('head').readUInt16BE(18);
  const wideGlyphs = tables('hhea').readUInt16BE(34);
  const widths = tables('hmtx');
  const widthOf = (codePoint: number) => {
    const glyph = glyphOf(codePoint);
    if (glyph === 0) return null;
    return widths.readUInt16BE(Math.min(glyph, wideGlyphs - 1) * 4) / unitsPerEm;
  };
  return { path, widthOf };
}

/** Finds a table by its tag. Source: OpenType specification, "Organization of an OpenType Font". */
function tablesOf(font: Buffer): (tag: string) => Buffer {
  const starts = new Map<string, number>();
  for (let index = 0; index < font.readUInt16BE(4); index++) {
    const record = 12 + index * 16;
    starts.set(font.toString('latin1', record, record + 4), font.readUInt32BE(record + 8));
  }
  return (tag) => {
    const start = starts.get(tag);
    if (start === undefined) throw new Error(`the font has no ${tag} table`);
    return font.subarray(start);
  };
}

/**
 * The glyph of a code point, 0 if it has none. Source: OpenType specification, `cmap` format 12.
 */
function characterMap(cmap: Buffer): (codePoint: number) => number {
  const groups = fullMap(cmap);
  const count = groups.readUInt32BE(12);
  return (codePoint) => {
    let low = 0;
    let high = count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (groups.readUInt32BE(20 + middle * 12) < codePoint) low = middle + 1;
      else high = middle;
    }
    if (low === count) return 0;
    const group = 16 + low * 12;
    const first = groups.readUInt32BE(group);
    return codePoint < first ? 0 : groups.readUInt32BE(group + 8) + codePoint - first;
  };
}

function fullMap(cmap: Buffer): Buffer {
  for (let index = 0; index < cmap.readUInt16BE(2); index++) {
    const map = cmap.subarray(cmap.readUInt32BE(4 + index * 8 + 4));
    if (map.readUInt16BE(0) === 12) return map;
  }
  throw new Error('the font has no full character map');
}
