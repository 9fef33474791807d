/** The program of the child processes that render. */
import { render } from 'local-renderer';
import { serveParent } from '../../kernel/child.ts';
import type { RenderJob } from './render.ts';

await serveParent(async (input) => {
  const { spec, outputPath } = input as RenderJob; // our own parent process sent it
  try {
    await render(spec, outputPath);
    return { failure: null };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) };
  }
});
