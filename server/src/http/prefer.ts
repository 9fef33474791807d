/** The longest wait of a read, in seconds. */
export const MAX_WAIT_SECONDS = 30;

/**
 * The seconds of `Prefer: wait=N` (RFC 7240), at most {@link MAX_WAIT_SECONDS}. A preference that
 * is not understood is none, as the RFC says; the first of several counts.
 */
export function preferredWait(header: string | string[] = ''): number | undefined {
  const preferences = [header].flat().join(',').split(',');
  const wait = preferences.find((one) => /^\s*wait\s*(=|;|$)/i.test(one)) ?? '';
  const [, , digits = ''] = /^\s*wait\s*=\s*("?)(\d+)\1\s*(;|$)/i.exec(wait) ?? [];
  const seconds = Math.min(Number(digits), MAX_WAIT_SECONDS);
  return seconds > 0 ? seconds : undefined;
}
