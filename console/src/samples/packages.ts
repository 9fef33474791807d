import { VERSION } from '../../../clients/typescript/src/version.ts';

/**
 * The address of what a reader installs: the installation serves it.
 * @param apiUrl with /api/v1
 */
export function packageUrl(apiUrl: string, name: 'client' | 'cli' | 'python'): string {
  const file =
    name === 'python'
      ? `framewright_client-${VERSION}-py3-none-any.whl`
      : `framewright-${name}-${VERSION}.tgz`;
  return `${apiUrl.replace(/\/api\/v1$/, '')}/packages/${file}`;
}
