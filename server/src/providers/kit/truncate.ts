/** What an operator needs of a provider's words fits, a whole page of it does not. */
const MAX_CHARACTERS = 1000;

/**
 * The beginning of a provider's words, to be stored: half of a surrogate pair, which the database
 * does not take, becomes U+FFFD, whether the cut or the provider made it.
 * @param maxCharacters in UTF-16 units; 1000 when not given
 */
export function truncate(text: string, maxCharacters = MAX_CHARACTERS): string {
  return text.slice(0, maxCharacters).toWellFormed();
}
