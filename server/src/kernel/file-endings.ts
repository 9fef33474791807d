const ENDINGS: Record<string, string> = {
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/webp': 'webp',
  'video/mp4': 'mp4',
  'video/quicktime': 'mov',
  'video/webm': 'webm',
  'video/x-matroska': 'mkv',
};

/** How the name of a file of this media type ends, for those who go by it; without the dot. */
export function fileEnding(mediaType: string): string {
  return ENDINGS[mediaType] ?? 'bin';
}
