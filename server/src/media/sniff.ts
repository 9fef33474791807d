/** The type of a file by its first bytes. `mov` is the family of mp4 and QuickTime. */
type Sniffed =
  | { kind: 'image'; mediaType: 'image/jpeg' | 'image/png' | 'image/webp' }
  | { kind: 'video'; container: 'mov' | 'matroska' };

/** How many bytes {@link sniff} needs; fewer if the file has fewer. */
export const SNIFF_BYTES = 16;

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const JPEG = Buffer.from([0xff, 0xd8, 0xff]);
const EBML = Buffer.from([0x1a, 0x45, 0xdf, 0xa3]);
/** First boxes of an mp4 or QuickTime file (ISO/IEC 14496-12; QuickTime File Format). */
const FIRST_BOXES = ['ftyp', 'moov', 'mdat', 'free', 'skip', 'wide'];
/** Brands of pictures in the same boxes (HEIF, AVIF and their sequences). */
const PICTURE_BRANDS = ['heic', 'heix', 'heim', 'heis', 'hevc', 'hevx', 'mif1', 'msf1'].concat([
  'avif',
  'avis',
  'crx ',
]);

/** Decides by the bytes alone, never by a name or a header; null for an unsupported type. */
export function sniff(head: Buffer): Sniffed | null {
  if (startsWith(head, PNG)) return { kind: 'image', mediaType: 'image/png' };
  if (startsWith(head, JPEG)) return { kind: 'image', mediaType: 'image/jpeg' };
  if (isWebp(head)) return { kind: 'image', mediaType: 'image/webp' };
  if (startsWith(head, EBML)) return { kind: 'video', container: 'matroska' };
  if (isMov(head)) return { kind: 'video', container: 'mov' };
  return null;
}

function startsWith(head: Buffer, magic: Buffer): boolean {
  return head.subarray(0, magic.length).equals(magic);
}

function isWebp(head: Buffer): boolean {
  return head.toString('latin1', 0, 4) === 'RIFF' && head.toString('latin1', 8, 12) === 'WEBP';
}

function isMov(head: Buffer): boolean {
  const type = head.toString('latin1', 4, 8);
  const brand = head.toString('latin1', 8, 12);
  return FIRST_BOXES.includes(type) && !(type === 'ftyp' && PICTURE_BRANDS.includes(brand));
}
