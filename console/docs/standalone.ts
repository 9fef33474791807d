import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DOCS_ORIGIN, fill, UNBRANDED } from './marks.ts';

const PARTS = ['docs', 'assets', 'favicon.svg', 'llms.txt', 'llms-full.txt'];
const FIRST_PAGE = '/docs/quickstart/';

/** Writes the customers' docs as their own site; other links lead to the service at `origin`. */
export async function copyDocs(from: string, to: string, origin = DOCS_ORIGIN): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const name of PARTS) {
    const filter = (file: string) => !/\.(br|gz)$/.test(file);
    await cp(path.join(from, name), path.join(to, name), { recursive: true, filter });
  }
  await rm(path.join(to, 'docs/operations'), { recursive: true, force: true });
  const files = await readdir(to, { recursive: true });
  for (const name of files.filter((one) => /\.(html|md|txt|xml|json|svg)$/.test(one))) {
    const file = path.join(to, name);
    await writeFile(file, aboutInstallation(await readFile(file, 'utf8'), name, origin));
  }
  const refresh = `<meta http-equiv="refresh" content="0; url=${FIRST_PAGE}" />`;
  const head = `${refresh}<title>${UNBRANDED.name}</title>`;
  const link = `<a href="${FIRST_PAGE}">Documentation</a>`;
  for (const name of ['index.html', 'docs/index.html']) {
    await writeFile(
      path.join(to, name),
      `<!doctype html><html lang="en"><head>${head}</head><body>${link}</body></html>\n`,
    );
  }
}

/** Points links to the website and API at the installation: those pages don't exist here. */
function aboutInstallation(text: string, file: string, origin: string): string {
  return fill(text, file, { ...UNBRANDED, origin }).replaceAll(
    / href="(\/(?!docs|assets|favicon)[^"]*)"/g,
    (_, address) => {
      return ` href="${origin}${address}"`;
    },
  );
}
