import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import {
  type Framewright,
  signWebhook,
  type WebhookDelivery,
  type WebhookDeliveryList,
  type WebhookEndpoint,
  type WebhookEndpointList,
} from '@framewright/client';
import type { Call } from '../command.ts';
import { asFailure, Failure, failureLines } from '../failure.ts';
import { EVENT_TYPES } from '../request-options.ts';
import { stateFolder, writeSynced } from '../state/folders.ts';
import { clientOf } from '../state/login.ts';
import { onInterrupt } from '../terminal/interrupt.ts';
import { printable, type Screen, styled } from '../terminal/screen.ts';

/** An API key may send 30 requests a minute. Polls use 12; each event about a task uses one more. */
const POLL_MS = 5_000;
const FORWARD_MS = 15_000;
const PAGE = 100;
const MAX_DESCRIPTION = 200;

/** Creates a webhook endpoint without a URL, relays the events it logs, and deletes it at the end. */
export async function listen(call: Call): Promise<void> {
  const { screen } = call;
  const secret = listeningSecret();
  if (call.flag('print-secret')) return screen.result({ secret }, secret);
  const forward = targetOf(call.text('forward'));
  const client = clientOf();
  const endpoint = await ownEndpoint(client);
  const chosen = call.texts('events');
  const isWanted = (type: string) => chosen.length === 0 || chosen.includes(type);
  const work = { client, endpoint, secret, forward, screen, isWanted };
  const remove = () => client.request('DELETE', `/webhooks/${work.endpoint.id}`).catch(() => {});
  onInterrupt('Nothing is relayed any more.', remove);
  const seen = new Set((await pageOf(client, endpoint)).data.map((one) => one.event_id));
  const { mode } = endpoint;
  const signed = 'They are signed with this secret of your machine';
  screen.result(
    { secret, forward, mode },
    `Relays ${mode} events to ${forward}. ${signed}:\n${secret}`,
  );
  try {
    for (;;) {
      await relayNew(work, seen);
      await pause(POLL_MS);
    }
  } finally {
    await remove();
  }
}

/** Relays new events; a failed read is retried at the next poll. */
async function relayNew(work: Relay, seen: Set<string>) {
  try {
    for (const event of await currentNews(work, seen)) {
      if (work.isWanted(event.type)) await relay(event, work);
      seen.add(event.event_id);
    }
  } catch (error) {
    const failure = asFailure(error);
    if (failure.kind !== 'unavailable') throw failure;
    work.screen.note(failureLines(failure)[0] ?? '');
  }
}

function targetOf(given: string | undefined): string {
  if (given === undefined) {
    const next = 'For example: fw listen --forward http://localhost:3000/hook';
    throw new Failure('usage', '--forward URL is missing.', { next });
  }
  if (/^https?:\/\//.test(given) && URL.canParse(given)) return given;
  throw new Failure('usage', `--forward takes an http or https address, not "${given}".`);
}

/** The secret is the same at each start, so that the local server's configuration stays valid. */
function listeningSecret(): string {
  const file = path.join(stateFolder(), 'listen-secret');
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    writeSynced(file, `${secret}\n`);
    return secret;
  }
}

/** The endpoint whose log is read: one left by a killed `fw` on this machine, or a new one. */
async function ownEndpoint(client: Framewright): Promise<WebhookEndpoint> {
  const description = `fw listen on ${hostname()}`.slice(0, MAX_DESCRIPTION);
  const { data } = await client.request<WebhookEndpointList>('GET', '/webhooks');
  const leftover = data.find((one) => one.description === description && one.disabled_at === null);
  if (leftover) return leftover;
  const body = { events: EVENT_TYPES, description };
  return client.request<WebhookEndpoint>('POST', '/webhooks', { body });
}

/** Reads new events, on a new endpoint if another `fw listen` on this machine deleted the old. */
async function currentNews(work: Relay, seen: ReadonlySet<string>): Promise<WebhookDelivery[]> {
  try {
    return await newsOf(work, seen);
  } catch (error) {
    if (asFailure(error).kind !== 'not_found') throw error;
    work.endpoint = await ownEndpoint(work.client);
    return newsOf(work, seen);
  }
}

/** New events, oldest first. The log may show them out of order, so they are recognised by id. */
async function newsOf({ client, endpoint }: Relay, seen: ReadonlySet<string>) {
  const found: WebhookDelivery[] = [];
  for (let cursor: string | undefined; ; ) {
    const { data, next_cursor: next } = await pageOf(client, endpoint, cursor);
    const news = data.filter(({ event_id: id }) => !seen.has(id));
    found.push(...news);
    if (news.length < data.length || next === null) return found.reverse();
    cursor = next;
  }
}

function ifGone(error: unknown): undefined {
  if (asFailure(error).kind !== 'not_found') throw error;
}

function pageOf(client: Framewright, { id }: WebhookEndpoint, cursor?: string) {
  const from = cursor === undefined ? '' : `&cursor=${cursor}`;
  const path = `/webhooks/${id}/deliveries?limit=${PAGE}${from}`;
  return client.request<WebhookDeliveryList>('GET', path);
}

interface Relay {
  client: Framewright;
  endpoint: WebhookEndpoint;
  secret: string;
  forward: string;
  screen: Screen;
  isWanted(type: string): boolean;
}

/** Sends an event once, without retries: whoever develops the server sees the outcome. */
async function relay(event: WebhookDelivery, { client, endpoint, secret, forward, screen }: Relay) {
  const { event_id: id, type, task_id: taskId, data, created_at: timestamp } = event;
  const shown = taskId === null ? data : await client.videos.get(taskId).catch(ifGone);
  if (shown === undefined) return screen.note(`${taskId} is gone: its event was not relayed.`);
  const body = JSON.stringify({ type, timestamp, mode: endpoint.mode, data: shown });
  const signed = await signWebhook(body, secret, { id });
  const headers = { 'content-type': 'application/json', ...signed };
  const signal = AbortSignal.timeout(FORWARD_MS);
  const init: RequestInit = { method: 'POST', headers, body, signal, redirect: 'manual' };
  const outcome = await fetch(forward, init)
    .then(async (response) => {
      await response.body?.cancel();
      return String(response.status);
    })
    .catch(() => 'no response');
  const isDelivered = /^2/.test(outcome);
  const status = styled(isDelivered ? 'green' : 'red', outcome);
  const text = [type, taskId ?? '', id, status].map((word) => word && printable(word)).join('\t');
  screen.result({ event_id: id, type, task_id: taskId, outcome }, text);
}
