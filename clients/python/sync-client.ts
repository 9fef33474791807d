/** In this order. Names with Async lose it. */
const REPLACEMENTS: [RegExp, string][] = [
  [/^""".*"""/, '"""The client for code that blocks, written by write.ts."""'],
  [/\basync |await /g, ''],
  [/\b_async_/g, '_'],
  [/\basynccontextmanager\b/g, 'contextmanager'],
  [/Async(?=[A-Z])/g, ''],
  [/__a(enter|exit)__/g, '__$1__'],
  [/\ba(close|read|iter_raw)\b/g, '$1'],
  [/Its calls may run at the same time\./, 'Threads may share it.'],
];

/** The text of _client.py: the asynchronous client without what makes it asynchronous. */
export function syncClientText(asyncClient: string): string {
  return REPLACEMENTS.reduce((text, [from, to]) => text.replace(from, to), asyncClient);
}
