/** The browser reads a file in one piece. */
const MAX_BYTES = 1024 ** 3;

/** The SHA-256 of a file in hex, computed in the browser. */
export async function digestOf(file: File): Promise<string> {
  if (file.size > MAX_BYTES) throw new Error('The file is larger than 1 GB.');
  if (!crypto.subtle) throw new Error('Your browser computes digests on https pages only.');
  const digest = await crypto.subtle.digest('SHA-256', await file.arrayBuffer());
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
