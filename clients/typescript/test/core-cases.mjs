// What must work on every runtime. Plain JavaScript without imports, so that each of them takes it.
const FAULTS = [
  { on: 'create', times: 2, faults: [{ kind: 'drop_after_accepting' }] },
  { on: 'read', faults: [{ kind: 'truncated_body' }] },
  { on: 'media', faults: [{ kind: 'truncated_body' }] },
];

/** Runs the package on a case of its own. Returns what came of it. */
export async function runCoreCases({ Framewright, signWebhook, verifyWebhook }, casesUrl) {
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
      verified({ signWebhook, verifyWebhook }, '{"a":1}'),
      verified({ signWebhook, verifyWebhook }, '{}'),
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

/** Whether a webhook that was signed with `{"a":1}` is taken with this body. */
async function verified({ signWebhook, verifyWebhook }, body) {
  const secret = `whsec_${btoa('a secret of 24 bytes....')}`;
  const signed = await signWebhook('{"a":1}', secret, { id: 'evt_1' });
  const { 'webhook-signature': signature, ...rest } = signed;
  const headers = { ...rest, 'Webhook-Signature': `v1,bm9uZQ== ${signature}` };
  return verifyWebhook(body, headers, secret).then(
    ({ id }) => id,
    ({ name }) => name,
  );
}
