// What must work on every runtime. Plain JavaScript without imports, so that each of them takes it.
const FAULTS = [
  { on: 'create', times: 2, faults: [{ kind: 'drop_after_accepting' }] },
  { on: 'read', faults: [{ kind: 'truncated_body' }] },
  { on: 'media', faults: [{ kind: 'truncated_body' }] },
];

/** Runs the package on a case of its own. Returns what came of it. */
export async function runCoreCases({ Framewright, verifyWebhook }, casesUrl) {
  const opened = await post(casesUrl, { faults: FAULTS });
  const client = new Framewright(opened);
  const video = await client.generate({ prompt: 'A paper boat' });
  let bytes = 0;
  const count = new WritableStream({
    write: (part) => {
      bytes += part.length;
    },
  });
  await video.download(count);
  const report = await (await fetch(`${casesUrl}/${opened.number}`)).json();
  return {
    status: video.status,
    isWhole: bytes === (await (await fetch(video.url)).arrayBuffer()).byteLength,
    report,
    aborted: await abortedWait(client),
    webhooks: await Promise.all([
      verified(verifyWebhook, '{"a":1}'),
      verified(verifyWebhook, '{}'),
    ]),
  };
}

const post = async (url, body) =>
  (await fetch(url, { method: 'POST', body: JSON.stringify(body) })).json();

/** The error of a wait whose signal fires, and whether it came at once. */
async function abortedWait(client) {
  const task = await client.videos.create({ prompt: 'A paper boat, test-slow' });
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 200);
  const start = Date.now();
  const { name, code } = await client.videos
    .wait(task, { signal: controller.signal })
    .catch((error) => error);
  return { name, code, isAtOnce: Date.now() - start < 5000 };
}

/** Whether a webhook that was signed with this body is taken with another one. */
async function verified(verify, body) {
  const secret = btoa('a secret of 24 bytes....');
  const time = String(Math.floor(Date.now() / 1000));
  const encoder = new TextEncoder();
  const raw = encoder.encode(atob(secret));
  const hmac = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', raw, hmac, false, ['sign']);
  const signed = encoder.encode(`evt_1.${time}.{"a":1}`);
  const signature = new Uint8Array(await crypto.subtle.sign('HMAC', key, signed));
  const headers = {
    'webhook-id': 'evt_1',
    'webhook-timestamp': time,
    'Webhook-Signature': `v1,bm9uZQ== v1,${btoa(String.fromCharCode(...signature))}`,
  };
  return verify(body, headers, `whsec_${secret}`).then(
    ({ id }) => id,
    ({ name }) => name,
  );
}
