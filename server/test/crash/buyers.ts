import assert from 'node:assert/strict';
import { grant } from '../../src/ledger/ledger.ts';
import { beginSession } from '../../src/sign-in/sessions.ts';
import { type ApiResponse, client, send } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import { type CrashFixture, VIDEO_CREDITS } from './crash-fixture.ts';

/** The promotional part of a video on the website; its other credits are paid. */
const PROMOTIONAL_CREDITS = 25;

/** A new account whose credits cover exactly one video. */
export interface Buyer {
  accountId: string;
  /** Creates the video at the service that listens at `url`. */
  create(url: string, key: string): Promise<ApiResponse>;
}

/** Buys through the public API. */
export async function apiBuyer({ database, body }: CrashFixture): Promise<Buyer> {
  const { accountId, secret } = await makeCustomer(database.db, VIDEO_CREDITS);
  return { accountId, create: (url, key) => client(url, secret).create(body, key) };
}

/** Buys on the website, with both kinds of credits and a picture that is uploaded first. */
export async function webBuyer(
  { database: { db }, body, picture }: CrashFixture,
  serviceUrl: string,
): Promise<Buyer> {
  const { accountId } = await makeCustomer(db, VIDEO_CREDITS - PROMOTIONAL_CREDITS);
  const given = { accountId, kind: 'promotional', reference: accountId } as const;
  await grant(db, { ...given, credits: PROMOTIONAL_CREDITS });
  const from = { method: 'code', network: null, browser: null };
  const cookie = `framewright=${await beginSession(db, accountId, from)}`;
  const post = (
    url: string,
    headers: Record<string, string>,
    sent: string | Uint8Array<ArrayBuffer>,
  ) =>
    send(url, {
      method: 'POST',
      headers: { cookie, 'sec-fetch-site': 'same-origin', ...headers },
      body: sent,
    });
  const uploads = `${serviceUrl}/console/api/uploads`;
  const upload = await post(
    uploads,
    { 'content-type': 'image/png' },
    new Uint8Array(picture.bytes),
  );
  assert.equal(upload.status, 201, JSON.stringify(upload.body));
  const request = JSON.stringify({ ...body, image_url: upload.body.url });
  return {
    accountId,
    create: (url, key) => {
      const headers = { 'content-type': 'application/json', 'idempotency-key': key };
      return post(`${url}/console/api/generations`, headers, request);
    },
  };
}
