/** Enough for what an operator needs to know; a whole error page is cut. */
const MAX_CHARACTERS = 1000;

/**
 * The beginning of a provider's text, fit to be stored. Half of a surrogate pair, which Postgres
 * rejects, becomes U+FFFD, whether the cut or the provider made it.
 * @param maxCharacters in UTF-16 units; 1000 if not given
 */
export function truncate(text: string, maxCharacters = MAX_CHARACTERS): string {
  return text.slice(0, maxCharacters).toWellFormed();
}
