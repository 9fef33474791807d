/**
 * A value as JSON that Postgres can store as jsonb: U+0000 and lone surrogates, which it refuses
 * and what others say may hold, become U+FFFD.
 */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, (_name, member) =>
    typeof member === 'string' ? storable(member) : member,
  );
}

/** A text that Postgres can store. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\u{fffd}');
}
