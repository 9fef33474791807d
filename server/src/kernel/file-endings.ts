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
