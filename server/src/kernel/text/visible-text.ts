/** Control characters, invisible ones, and those that reverse the text after them. */
const HIDDEN =
  /[\p{Cc}\u{ad}\u{61c}\u{200b}\u{200e}\u{200f}\u{2028}-\u{202e}\u{2060}-\u{2069}\u{feff}]/gu;

/**
 * Makes a stranger's text safe for a terminal: characters that move the cursor, end the line or
 * change how other text looks become escapes such as `\u001b`.
 */
export function visibleText(text: string): string {
  return text.replace(
    HIDDEN,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** {@link visibleText} for a text with several lines, such as the stack of an error. */
export function visibleLines(text: string): string {
  return text.split('\n').map(visibleText).join('\n');
}
