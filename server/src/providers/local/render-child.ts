import { type RenderSpec, render } from 'local-renderer';
import { serveParent } from '../../kernel/child.ts';

/** What the parent process sends to the child process that renders. */
export interface RenderJob {
  spec: RenderSpec;
  outputPath: string;
}

await serveParent(async (input) => {
  const { spec, outputPath } = input as RenderJob; // our own parent process sent it
  try {
    await render(spec, outputPath);
    return { kind: 'rendered' };
  } catch (error) {
    return { kind: 'failed', cause: error instanceof Error ? error.message : String(error) };
  }
});
