import { buildPages } from 'console/build.ts';
import type { Log } from '../../kernel/log.ts';

/**
 * Returns the folder of the built pages, building them first if their sources are newer. If that
 * fails (such as on a read-only installation), the API is served without pages.
 */
export async function builtPages(log: Log): Promise<string | undefined> {
  try {
    return await buildPages((line) => log.info(line));
  } catch (err) {
    log.error({ err }, 'the website could not be built: run node console/build.ts');
    return undefined;
  }
}
