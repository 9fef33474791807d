import { buildPages } from 'console/build.ts';
import type { Log } from '../../kernel/log.ts';

/**
 * The folder of the built pages; builds them if their sources are newer. Where that is not possible
 * (a read-only installation that was not built, say) the API is served without pages.
 */
export async function builtPages(log: Log): Promise<string | undefined> {
  try {
    return await buildPages((line) => log.info(line));
  } catch (err) {
    log.error({ err }, 'the website could not be built: run node console/build.ts');
    return undefined;
  }
}
