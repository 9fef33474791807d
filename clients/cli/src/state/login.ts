import { createHash } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { env } from 'node:process';
import { Framewright } from '@framewright/client';
import { Failure } from '../failure.ts';
import { configFolder, writeSynced } from './folders.ts';

/** An API key and its service; the key is never sent elsewhere. */
export interface Login {
  baseUrl: string;
  apiKey: string;
}

const file = () => path.join(configFolder(), 'login.json');

function readLogin(): Login | undefined {
  try {
    return JSON.parse(readFileSync(file(), 'utf8'));
  } catch {
    return undefined;
  }
}

export function storeLogin(login: Login): void {
  writeSynced(file(), `${JSON.stringify(login)}\n`);
}

/** @returns whether there was one */
export function removeLogin(): boolean {
  const hadOne = readLogin() !== undefined;
  rmSync(file(), { force: true });
  return hadOne;
}

/** Also accepts the website's URL. @throws Failure `usage` */
export function baseUrlOf(given: string): string {
  if (!/^https?:/.test(given) || !URL.canParse(given)) {
    const message = `The base URL is not an http or https address: "${given}"; nothing was sent.`;
    throw new Failure('usage', message, { charged: 'no', next: SERVICE_ADVICE });
  }
  const url = new URL(given);
  const folder = url.pathname.replace(/\/+$/, '');
  return url.origin + (folder === '' ? '/api/v1' : folder);
}

const SERVICE_ADVICE = 'fw login --base-url https://video.example.com names the service.';

/** The service for commands that name none. @throws Failure `usage` */
export function usualBaseUrl(): string {
  const given = env.FRAMEWRIGHT_BASE_URL || readLogin()?.baseUrl;
  if (given) return baseUrlOf(given);
  const message = 'There is no base URL of a service; nothing was sent.';
  throw new Failure('usage', message, { charged: 'no', next: SERVICE_ADVICE });
}

/** @throws Failure `key` if it doesn't look like an API key; the text is not shown */
export function checkKey(apiKey: string): string {
  if (/^fw_(live|test)_[0-9A-Za-z]+$/.test(apiKey)) return apiKey;
  const message = 'This is not an API key: they begin with fw_live_ or fw_test_.';
  throw new Failure('key', message, { charged: 'no', next: 'fw login stores an API key.' });
}

/** The environment's API key, otherwise the stored one. @throws Failure `key` */
export function currentLogin(): Login {
  const baseUrl = usualBaseUrl();
  const own = env.FRAMEWRIGHT_API_KEY;
  if (own) return { baseUrl, apiKey: checkKey(own) };
  const login = readLogin();
  if (login?.baseUrl === baseUrl) return login;
  throw new Failure('key', `There is no API key for ${baseUrl}.`, {
    charged: 'no',
    next: 'fw login stores one; or set FRAMEWRIGHT_API_KEY.',
  });
}

export const isTestKey = ({ apiKey }: Login) => apiKey.startsWith('fw_test_');

/** A hash that tells API keys apart. */
export function keyHashOf({ apiKey }: Login): string {
  return createHash('sha256').update(apiKey).digest('hex').slice(0, 16);
}

export const clientOf = (login = currentLogin(), maxRetries?: number) =>
  new Framewright({ ...login, maxRetries });
