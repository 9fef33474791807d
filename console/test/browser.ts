import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const CONSOLE = path.join(import.meta.dirname, '..');
const CACHE = path.join(CONSOLE, '../node_modules/.cache');
const SYSTEM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** How a browser is started: its program, and what its environment has beside PATH. */
interface Program {
  executablePath: string;
  env?: Record<string, string>;
}

/** Whether the npm package of the browser runs here. */
const isPackaged = process.platform === 'linux' && process.arch === 'x64';
const given =
  process.env.CHROMIUM_PATH || SYSTEM.find((file) => !isPackaged && existsSync(file)) || undefined;

/** Why there is no browser, for `skip`; false if there is one. */
export const NO_BROWSER = whyNoBrowser();

function whyNoBrowser(): string | false {
  if (given !== undefined) return existsSync(given) ? false : `no browser: there is no ${given}`;
  if (!isPackaged) return 'no browser: set CHROMIUM_PATH (npm has one for Linux on x64 only)';
  const isInstalled = existsSync(path.join(CONSOLE, '../node_modules/@sparticuz/chromium'));
  return isInstalled ? false : 'no browser: set CHROMIUM_PATH, or install the packages for tests';
}

/** Starts a browser without a window: the one that CHROMIUM_PATH names, or that of npm. */
export async function launchBrowser(): Promise<Browser> {
  const program = given === undefined ? await unpacked() : { executablePath: given };
  const { PATH = '', HOME = '' } = process.env;
  return chromium.launch({
    executablePath: program.executablePath,
    chromiumSandbox: false, // it needs rights that a container does not give
    env: { PATH, HOME, ...program.env },
  });
}

/**
 * Unpacks the browser of npm once, beside the packages, so that `npm ci` removes it. Each process
 * unpacks into a folder of its own and renames it: a killed or parallel run leaves no half browser.
 * The libraries that a bare Debian lacks are for the browser only, not for its parents.
 */
async function unpacked(): Promise<Program> {
  const folder = path.join(CACHE, `chromium-${await version()}`);
  if (!existsSync(folder)) await unpack(folder);
  return {
    executablePath: path.join(folder, 'chromium'),
    env: {
      LD_LIBRARY_PATH: path.join(folder, 'al2023/lib'),
      FONTCONFIG_FILE: path.join(folder, 'fonts.conf'),
    },
  };
}

async function version(): Promise<string> {
  const { devDependencies } = JSON.parse(
    await readFile(path.join(CONSOLE, 'package.json'), 'utf8'),
  );
  return devDependencies['@sparticuz/chromium'];
}

async function unpack(folder: string): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const fresh = await mkdtemp(`${folder}.new-`);
  try {
    const code = "import('@sparticuz/chromium').then((module) => module.default.executablePath())";
    const child = spawn(process.execPath, ['-e', code], {
      cwd: CONSOLE, // where the package can be found
      stdio: 'inherit',
      // Chromium is unpacked into the temporary folder, its libraries only if this variable is set.
      env: {
        PATH: process.env.PATH,
        TMPDIR: fresh,
        AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs22.x',
      },
    });
    const [status] = await once(child, 'exit');
    if (status !== 0) throw new Error('the browser of npm could not be unpacked');
    await writeFile(path.join(fresh, 'fonts.conf'), fontSettings(folder));
    await rename(fresh, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

/** The package's own settings name folders that are not there: without these no text is drawn. */
function fontSettings(folder: string): string {
  const folders = [path.join(folder, 'fonts/fonts'), '/usr/share/fonts'];
  const lines = folders.map((name) => `<dir>${name}</dir>`).join('');
  const cache = `<cachedir>${path.join(folder, 'font-cache')}</cachedir>`;
  return `<?xml version="1.0"?><fontconfig>${lines}${cache}</fontconfig>`;
}
