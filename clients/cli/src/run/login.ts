import { spawn } from 'node:child_process';
import { env, platform, stdin } from 'node:process';
import type { Call } from '../command.ts';
import {
  baseUrlOf,
  checkKey,
  clientOf,
  isTestKey,
  removeLogin,
  storeLogin,
  usualBaseUrl,
} from '../state/login.ts';
import { askHidden } from '../terminal/prompt.ts';
import { figure } from '../terminal/screen.ts';

export async function login({ screen, text }: Call): Promise<void> {
  const given = text('base-url');
  const baseUrl = given === undefined ? usualBaseUrl() : baseUrlOf(given);
  const page = new URL('/keys', baseUrl).href;
  if (isUnencrypted(baseUrl)) {
    screen.note(
      'This address is not encrypted: anyone between you and the server can read your API key.',
    );
  }
  screen.note(`API keys are made at ${page}. Press Enter without a key to open this page.`);
  const entered = { baseUrl, apiKey: checkKey(await askForKey(page)) };
  const { available_credits: credits } = await clientOf(entered).credits.get();
  storeLogin(entered);
  const mode = isTestKey(entered) ? 'test' : 'live';
  screen.result(
    { base_url: baseUrl, mode, available_credits: credits },
    `Logged in at ${baseUrl} with a ${mode} key: ${figure(screen, credits)} credits.`,
  );
}

export async function logout({ screen }: Call): Promise<void> {
  const hadOne = removeLogin();
  screen.note('The key itself is still valid: revoke it on the website if you do not need it.');
  screen.result({ logged_out: hadOne }, hadOne ? 'Logged out.' : 'There was no login.');
}

async function askForKey(page: string): Promise<string> {
  for (;;) {
    const key = await askHidden('API key (it is not shown): ');
    if (key !== '' || !stdin.isTTY) return key;
    openInBrowser(page);
  }
}

function isUnencrypted(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === 'http:' && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
}

const OPENERS: Partial<Record<NodeJS.Platform, [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Does nothing without a browser: the URL is on the screen. */
function openInBrowser(page: string): void {
  const usual = OPENERS[platform] ?? ['xdg-open'];
  const [program, ...args] = env.BROWSER ? ([env.BROWSER] as const) : usual;
  const child = spawn(program, [...args, page], { stdio: 'ignore', detached: true });
  child.on('error', () => {}).unref();
}
