import { readFile } from 'node:fs/promises';
import path from 'node:path';
import tailwindcss from '@tailwindcss/vite';
import type { InlineConfig, Plugin } from 'vite';

/**
 * Sets the theme before the first paint, and preloads the main fonts, so that nothing shifts when
 * they arrive. A classic script in its own file, because the content security policy forbids inline
 * scripts, and a module would run after the paint.
 */
function themeScript(root: string): Plugin {
  return {
    name: 'theme-script',
    apply: 'build',
    async buildStart() {
      const source = await readFile(path.join(root, 'src/theme-before-paint.js'), 'utf8');
      this.emitFile({ type: 'asset', name: 'theme.js', source });
    },
    transformIndexHtml: {
      order: 'post',
      handler(html, { bundle = {} }) {
        const asset = Object.values(bundle).find(({ name }) => name === 'theme.js');
        if (!asset) throw new Error('the theme script is not part of the build');
        const early = html.includes('class="docs"') ? /inter-latin-|mono-latin-/ : /inter-latin-/;
        const fonts = Object.values(bundle).filter(({ fileName }) => early.test(fileName));
        const preloads = fonts.map(
          (font) => `<link rel="preload" as="font" crossorigin href="/${font.fileName}" />`,
        );
        const script = `<script src="/${asset.fileName}"></script>`;
        return html.replace('<!-- theme -->', script + preloads.join(''));
      },
    },
  };
}

/** The build settings: nothing is inlined, as the content security policy requires. */
export function settings({ root, outDir }: { root: string; outDir: string }): InlineConfig {
  return {
    root,
    configFile: false,
    logLevel: 'error',
    envFile: false,
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    plugins: [tailwindcss(), themeScript(root)],
    build: {
      outDir,
      emptyOutDir: false,
      rolldownOptions: { input: [path.join(root, 'index.html'), path.join(root, 'docs.html')] },
      assetsInlineLimit: 0,
      cssCodeSplit: false, // one stylesheet for all pages needs no script to load others
      modulePreload: false,
      target: ['chrome123', 'safari17.5', 'firefox120'],
      reportCompressedSize: false,
    },
  };
}
