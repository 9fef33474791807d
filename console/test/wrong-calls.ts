import { api } from '../src/api.ts';
import { useList, useLoad } from '../src/load.ts';
import { addressOf } from '../src/site-api.ts';

// `npm run check` compiles this file and fails when a line that must not compile does. Nothing runs
// it. What is wrong with a line stands above it.

/** Writes. */
export async function writes(): Promise<void> {
  const made = await api('POST /console/api/keys', { body: { name: 'ci', monthly_cap: 5 } });
  made.key.requests.map((count) => count.toFixed());
  // @ts-expect-error: the result has no such field
  made.key.request_count;
  // @ts-expect-error: no such path
  await api('POST /console/api/key', { body: { name: 'ci' } });
  // @ts-expect-error: the path has no such method
  await api('PUT /console/api/keys', { body: { name: 'ci' } });
  // @ts-expect-error: the body is missing
  await api('POST /console/api/keys');
  // @ts-expect-error: a field has another type
  await api('POST /console/api/keys', { body: { name: 'ci', monthly_cap: '5' } });
  // @ts-expect-error: the route takes no body
  await api('POST /auth/sign-out', { body: {} });
}

/** Paths that name something. */
export async function names(): Promise<void> {
  await api('DELETE /console/api/keys/:id', { params: { id: 'key' } });
  // @ts-expect-error: what the path names is missing
  await api('DELETE /console/api/keys/:id');
  // @ts-expect-error: the path names nothing like it
  await api('DELETE /console/api/keys/:id', { params: { key: 'key' } });
  // @ts-expect-error: the path names nothing
  await api('GET /console/api/keys', { params: { id: 'key' } });
  addressOf('/console/api/usage.csv', {
    query: { mode: 'test', from: '2026-11-22', to: undefined },
  });
  // @ts-expect-error: the query has no such text
  addressOf('/console/api/usage.csv', { query: { mode: 'live', until: '2026-11-22' } });
}

/** Reads of a page. */
export function Reads() {
  const keys = useLoad('/console/api/keys', { query: { mode: 'live' } });
  keys.data?.items.map(({ monthly_cap: cap }) => cap?.toFixed());
  // @ts-expect-error: the entries have no such field
  keys.data?.items.map(({ cap }) => cap);
  // @ts-expect-error: no such path
  useLoad('/console/api/key');
  // @ts-expect-error: the path can't be read
  useLoad('/auth/sign-out');
  // A time is a text on the page.
  useLoad('/console/api/sessions').data?.items[0]?.created_at.slice(0, 10);
  // What the path names may not be known yet.
  useLoad('/console/api/tasks/:id', undefined).data?.prompt.trim();
  const tasks = useList('/console/api/tasks', { query: { mode: 'live', state: 'failed' } });
  tasks.items?.map(({ failed_because: why }) => why?.trim());
  // @ts-expect-error: the list has no such filter
  useList('/console/api/tasks', { query: { mode: 'live', phase: 'failed' } });
  // @ts-expect-error: it is not a list
  useList('/console/api/me');
  return null;
}
