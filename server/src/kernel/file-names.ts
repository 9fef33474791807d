const ENDINGS: Record<string, string> = {
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/webp': 'webp',
  'video/mp4': 'mp4',
  'video/quicktime': 'mov',
  'video/webm': 'webm',
  'video/x-matroska': 'mkv',
};

/** The file name extension of a media type, without the dot; `bin` for an unknown type. */
export function fileEnding(mediaType: string): string {
  return ENDINGS[mediaType] ?? 'bin';
}

const MAX_NAME = { words: 8, characters: 50 };

/**
 * A file name without its ending that every system takes, such as `a-boat-at-dawn-2026-11-28-42`:
 * letters and digits of any script, at most 250 bytes.
 * @param number tells apart what was made from one text on one day
 */
export function fileNameOf(text: string, { at, number }: { at: Date; number: number }): string {
  const words =
    text
      .normalize('NFC')
      .toLowerCase()
      .match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
  const start = [...words.slice(0, MAX_NAME.words).join('-')]
    .slice(0, MAX_NAME.characters)
    .join('');
  return `${start || 'video'}-${at.toISOString().slice(0, 10)}-${number}`;
}

/**
 * The Content-Disposition of a download (RFC 6266), with its name in UTF-8 for all but old
 * browsers.
 */
export function attachment(fileName: string): string {
  const plain = fileName.replaceAll(/[^\x20-\x7e]|["\\%]/gu, '_');
  const ascii = `attachment; filename="${plain}"`;
  if (plain === fileName) return ascii;
  const escaped = encodeURIComponent(fileName.toWellFormed()).replaceAll(
    /['()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${ascii}; filename*=UTF-8''${escaped}`;
}
