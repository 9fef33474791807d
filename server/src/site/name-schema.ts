import { Type } from 'typebox';

/** Also what is a letter by its category, such as the filler of Hangul, and blank braille. */
const INVISIBLE = String.raw`\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}\u2800`;
const ON_ONE_LINE = String.raw`[^\p{Cc}\p{Cs}]*`;

/** A name that a person gives to something of theirs: on one line, with a visible character. */
export function nameSchema(maxLength: number) {
  const pattern = `^${ON_ONE_LINE}[^${INVISIBLE}]${ON_ONE_LINE}$`;
  return Type.String({ minLength: 1, maxLength, pattern });
}
