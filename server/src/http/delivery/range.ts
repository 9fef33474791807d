import type { ByteRange } from '../../storage/storage.ts';

/**
 * The byte range that a request asks for (RFC 9110, section 14). As the RFC allows, it ignores
 * several ranges, other units and malformed ranges. It also ignores a range whose If-Range names
 * another file.
 * @returns undefined for the whole file
 */
export function rangeOf(
  headers: { range?: string | undefined; 'if-range'?: string | string[] | undefined },
  file: { size: number; etag: string },
): ByteRange | 'unsatisfiable' | undefined {
  if (headers['if-range'] !== undefined && headers['if-range'] !== file.etag) return undefined;
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(headers.range?.trim() ?? '') ?? [];
  if (from === '' && to === '') return undefined;
  const end = file.size - 1;
  if (from === '') {
    const length = Math.min(Number(to), file.size);
    return length === 0 ? 'unsatisfiable' : { first: file.size - length, last: end };
  }
  const first = Number(from);
  const last = to === '' ? end : Math.min(Number(to), end);
  if (first > end) return 'unsatisfiable';
  return last < first ? undefined : { first, last };
}
