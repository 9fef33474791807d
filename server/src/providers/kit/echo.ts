type Fields = Record<string, unknown>;

/**
 * Whether a provider shows what was sent: every field that was sent is in the shown data, with
 * the same value.
 * Fields that the provider added do not matter. Links are compared without their query, because a
 * link to the same file gets a new signature from time to time.
 */
export function isEcho(sent: unknown, shown: unknown): boolean {
  if (typeof sent === 'string' && typeof shown === 'string') {
    return withoutQuery(sent) === withoutQuery(shown);
  }
  if (Array.isArray(sent)) {
    if (!Array.isArray(shown) || shown.length !== sent.length) return false;
    return sent.every((item, index) => isEcho(item, shown[index]));
  }
  if (isFields(sent)) {
    return isFields(shown) && Object.keys(sent).every((key) => isEcho(sent[key], shown[key]));
  }
  return Object.is(sent, shown);
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function withoutQuery(text: string): string {
  return /^https?:\/\/\S+$/.test(text) ? (text.split(/[?#]/)[0] ?? text) : text;
}
