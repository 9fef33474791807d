type Fields = Record<string, unknown>;

/**
 * Whether a provider shows what was sent: every field that was sent is in the shown data, with
 * the same value.
 * Fields that the provider added do not matter. Links are compared without their query, because a
 * link to the same file gets a new signature from time to time. Links to our objects are compared
 * by the object's id: a link may lead to the service or to the storage itself.
 */
export function isEcho(sent: unknown, shown: unknown): boolean {
  if (typeof sent === 'string' && typeof shown === 'string') {
    return comparable(sent) === comparable(shown);
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

function comparable(text: string): string {
  if (!/^https?:\/\/\S+$/.test(text)) return text;
  const link = text.split(/[?#]/)[0] ?? text;
  return /\/(obj_\w+)(\.\w{2,4})?$/.exec(link)?.[1] ?? link;
}
