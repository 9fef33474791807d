import { UsageError } from '../../kernel/errors.ts';

/** Where an S3 bucket is and how to address it. Credentials are not part of it. */
export type S3Settings = ReturnType<typeof parseS3Url>;

const PARAMETERS = ['endpoint', 'region', 'pathStyle', 'publicEndpoint'];
const EXAMPLE = 's3://bucket/prefix?endpoint=https://s3.example.com&region=eu-1';

/**
 * Parses `s3://bucket/prefix?endpoint=…&region=…&pathStyle=true&publicEndpoint=…`. Without an
 * endpoint it is Amazon S3; with one, `pathStyle` is true by default. @throws UsageError
 */
export function parseS3Url(text: string) {
  const url = URL.parse(text);
  if (url?.protocol !== 's3:' || url.hostname === '') throw new UsageError(`expected ${EXAMPLE}`);
  if (url.username || url.password || text.includes('@')) {
    // The value is not shown: it may hold a secret.
    throw new UsageError('credentials do not belong here: set AWS_ACCESS_KEY_ID and the like');
  }
  const { searchParams } = url;
  const unknown = [...searchParams.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined) {
    throw new UsageError(`unknown parameter "${unknown}": expected ${PARAMETERS.join(', ')}`);
  }
  const given = readAddress(searchParams, 'endpoint');
  const region = searchParams.get('region') || (given === undefined ? '' : 'us-east-1');
  if (!/^[\w-]+$/.test(region)) throw new UsageError('region must be given, such as eu-central-1');
  const endpoint = given ?? `https://s3.${region}.amazonaws.com`;
  return {
    bucket: url.hostname,
    /** The prefix of each object's id, without outer slashes; may be empty. */
    prefix: decodePath(url.pathname).replace(/^\/+|\/+$/g, ''),
    region,
    /** Where this service reaches the store: scheme and host, without a trailing slash. */
    endpoint,
    /** Where clients and providers reach it, for presigned links. */
    publicEndpoint: readAddress(searchParams, 'publicEndpoint') ?? endpoint,
    /** Whether the bucket is in the path of a URL; otherwise it is in the host name. */
    pathStyle: readYesOrNo(searchParams, 'pathStyle', given !== undefined),
  };
}

export function keyOf({ prefix }: Pick<S3Settings, 'prefix'>, name: string): string {
  return prefix === '' ? name : `${prefix}/${name}`;
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw new UsageError(`the prefix is not well formed: expected ${EXAMPLE}`);
  }
}

function readAddress(parameters: URLSearchParams, name: string): string | undefined {
  const text = parameters.get(name) ?? '';
  if (text === '') return undefined;
  const url = URL.parse(text);
  const isPlain = url && !url.username && !url.search && !url.hash && url.pathname === '/';
  if (!isPlain || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(`${name} must be an address such as https://s3.example.com`);
  }
  return url.origin;
}

function readYesOrNo(parameters: URLSearchParams, name: string, fallback: boolean): boolean {
  const text = parameters.get(name) || String(fallback);
  if (text !== 'true' && text !== 'false') throw new UsageError(`${name} must be true or false`);
  return text === 'true';
}
