import { exampleOf, type Operation } from './openapi.ts';

/** An operation as a command of curl, with the environment variables that all samples use. */
export function curlOf(operation: Operation): string {
  const { method, path, parameters = [], requestBody, security } = operation;
  const address = path
    .replace('/api/v1', '$FRAMEWRIGHT_BASE_URL')
    .replaceAll(/\{(\w+)\}/g, (_, name) => (name === 'id' ? '$ID' : `$${name.toUpperCase()}`));
  const key = parameters.some(({ name }) => name.toLowerCase() === 'idempotency-key');
  const example = exampleOf(requestBody?.content);
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
