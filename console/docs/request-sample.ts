import { FIRST_KEY } from '../src/samples/first-request.ts';
import { EXAMPLE_IDS } from './contents.ts';
import { exampleOf, type Operation } from './openapi.ts';

/** The path of an operation without /api/v1, with example ids. */
export function examplePath(path: string): string {
  const [, noun] = /\/(\w+)s\/\{id\}/.exec(path) ?? [];
  const id = EXAMPLE_IDS[noun as keyof typeof EXAMPLE_IDS];
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
    key ? `-H "Idempotency-Key: ${FIRST_KEY}"` : '',
    isFile ? '-H "Content-Type: image/png" --data-binary @first.png' : '',
    example === undefined ? '' : '-H "Content-Type: application/json"',
    example === undefined
      ? ''
      : `-d '${JSON.stringify(example, null, 2).replaceAll('\n', '\n    ')}'`,
  ];
  const verb = requestBody && method !== 'POST' ? [`-X ${method}`] : [];
  return [...parts.filter((part) => part !== ''), ...verb].join(' \\\n  ');
}
