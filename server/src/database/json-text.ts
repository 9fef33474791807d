/**
 * A value as JSON that Postgres can store as jsonb. Postgres rejects U+0000 and lone surrogates;
 * external text may contain them, so each becomes U+FFFD.
 */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, (_name, member) =>
    typeof member === 'string' ? storable(member) : member,
  );
}

/** The text with U+FFFD for the characters that Postgres rejects. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\u{fffd}');
}
