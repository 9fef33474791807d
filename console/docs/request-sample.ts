import { exampleOf, type Operation } from './openapi.ts';

/** What stands in samples for ids of the reader's own. */
export const EXAMPLE_IDS = {
  task: 'task_0VbkHu2oZVWDaBsvQf6tNbTO',
  webhook: 'we_0VGq3v9x7Zk3fQ2mR8yT1bNc',
  event: 'evt_7c1d0f5e2b9a4c3d8e6f1a2b3c4d5e6f',
};

/** The path of an operation without /api/v1, with example ids. */
export function examplePath(path: string): string {
  const id = path.includes('/webhooks/') ? EXAMPLE_IDS.webhook : EXAMPLE_IDS.task;
  return path.replace('/api/v1', '').replace('{id}', id).replace('{eventId}', EXAMPLE_IDS.event);
}

/** The JSON body that the samples of an operation send, if it takes one. */
export function exampleBody({ requestBody }: Operation): Record<string, unknown> | undefined {
  return exampleOf(requestBody?.content) as Record<string, unknown> | undefined;
}

/** An operation as a command of curl, with the environment variables that all samples use. */
export function curlOf(operation: Operation): string {
  const { method, path, parameters = [], requestBody, security } = operation;
  const address = `$FRAMEWRIGHT_BASE_URL${examplePath(path)}`;
  const key = parameters.some(({ name }) => name.toLowerCase() === 'idempotency-key');
  const example = exampleBody(operation);
  const isFile = requestBody !== undefined && example === undefined;
  const parts = [
    `curl -s ${method === 'GET' || requestBody ? '' : `-X ${method} `}${address}`,
    security?.length === 0 ? '' : '-H "Authorization: Bearer $FRAMEWRIGHT_API_KEY"',
    key ? '-H "Idempotency-Key: order-4711"' : '',
    isFile ? '-H "Content-Type: image/png" --data-binary @first.png' : '',
    example === undefined ? '' : '-H "Content-Type: application/json"',
    example === undefined
      ? ''
      : `-d '${JSON.stringify(example, null, 2).replaceAll('\n', '\n    ')}'`,
  ];
  const verb = requestBody && method !== 'POST' ? [`-X ${method}`] : [];
  return [...parts.filter((part) => part !== ''), ...verb].join(' \\\n  ');
}
