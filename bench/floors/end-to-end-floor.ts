/**
 * A program that takes videos from their create to completed as plainly as possible: a table, a job
 * queue in the same database (graphile-worker), one job per step. It returns its URL and process id.
 */
import { open, rename } from 'node:fs/promises';
import path from 'node:path';
import { fastify } from 'fastify';
import { Logger, run, type TaskList } from 'graphile-worker';
import pg from 'pg';
import { openScratchDirectory } from '../../server/src/kernel/scratch-directory.ts';
import { createMeasurer } from '../../server/src/media/measure.ts';
import { type ProgramAddress, serveRequests } from '../program.ts';

export interface EndToEndFloorSetup {
  databaseUrl: string;
  /** The queue of the simulated fal. */
  providerUrl: string;
  /** Where the videos are stored: on the same disk as the service's. */
  folder: string;
}

/** As many as the pool of the service; one more or less makes no difference. */
const CONNECTIONS = 24;
const CONCURRENCY = 24;
/** Until a job that is under way is read again. */
const POLL_SECONDS = 2;

const SCHEMA = `create table videos (
  id uuid primary key default gen_random_uuid(),
  status text not null default 'queued',
  request jsonb not null,
  request_id text, output_url text, duration_seconds float8, path text,
  created_at timestamptz not null default now(), completed_at timestamptz);
create index on videos (status) where status <> 'completed'`;

interface Payload {
  id: string;
}

interface Video {
  id: string;
  request: { prompt: string };
  request_id: string;
  output_url: string;
}

serveRequests<EndToEndFloorSetup, object, ProgramAddress>(async (setup) => {
  const pool = new pg.Pool({ connectionString: setup.databaseUrl, max: CONNECTIONS });
  const print = (error: Error) => process.stderr.write(`${error.message}\n`);
  pool.on('error', print).on('connect', (client) => client.on('error', print));
  await pool.query(SCHEMA);
  const worker = await run({
    pgPool: pool,
    concurrency: CONCURRENCY,
    noHandleSignals: true,
    taskList: stepsOf(pool, setup),
    logger: new Logger(() => () => {}),
  });
  const app = fastify();
  app.post('/api/v1/video/generations', async (request, reply) => {
    const { rows } = await pool.query<Payload>(CREATE, [request.body]);
    return reply.code(202).send({ id: rows[0]?.id, status: 'queued' });
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    handle: async () => ({ url, pid: process.pid }),
    close: async () => {
      await app.close();
      await worker.stop();
      await pool.end();
      process.exit(); // its decoding children wait for more files
    },
  };
});

/** The row and its first job are committed together. */
const CREATE = `with video as (insert into videos (request) values ($1) returning id)
  select id, graphile_worker.add_job('submit', json_build_object('id', id)) from video`;

/** Each step reads its row, does its work, writes its row, and adds the job of the next one. */
function stepsOf(pool: pg.Pool, { providerUrl, folder }: EndToEndFloorSetup): TaskList {
  const endpoint = `${providerUrl}/bytedance/seedance-2.0/mini/text-to-video`;
  const scratch = openScratchDirectory(path.join(folder, 'scratch'));
  const measurer = createMeasurer({ scratch });
  const videoOf = async (payload: unknown): Promise<Video> => {
    const { rows } = await pool.query('select * from videos where id = $1', [
      (payload as Payload).id,
    ]);
    return rows[0];
  };
  return {
    async submit(payload, { addJob }) {
      const { id, request } = await videoOf(payload);
      const body = JSON.stringify({ prompt: request.prompt, resolution: '720p', duration: '5' });
      const { request_id } = await call(endpoint, { method: 'POST', body });
      await pool.query(`update videos set status = 'generating', request_id = $2 where id = $1`, [
        id,
        request_id,
      ]);
      await addJob('read', { id });
    },
    async read(payload, { addJob }) {
      const { id, request_id } = await videoOf(payload);
      const address = `${providerUrl}/bytedance/seedance-2.0/requests/${request_id}`;
      const { status } = await call(`${address}/status`);
      if (status !== 'COMPLETED') {
        await addJob('read', { id }, { runAt: new Date(Date.now() + POLL_SECONDS * 1000) });
        return;
      }
      const { video } = await call(address);
      await pool.query(`update videos set status = 'storing', output_url = $2 where id = $1`, [
        id,
        video?.url,
      ]);
      await addJob('store', { id });
    },
    async store(payload) {
      const { id, output_url } = await videoOf(payload);
      const response = await fetch(output_url);
      if (!response.ok) throw new Error(`the download got ${response.status}`);
      const partial = path.join(folder, `${id}.part`);
      const file = await open(partial, 'w');
      await file.writeFile(Buffer.from(await response.arrayBuffer()));
      const checked = await measurer.measure(partial, 'video', { source: 'fal' });
      if (checked.kind !== 'measured' || checked.facts.kind !== 'video') {
        throw new Error('the output is not a video');
      }
      await file.sync();
      await file.close();
      const final = path.join(folder, `${id}.mp4`);
      await rename(partial, final);
      await syncFolder(folder);
      await pool.query(
        `update videos set status = 'completed', path = $2, duration_seconds = $3,
           completed_at = now() where id = $1`,
        [id, final, checked.facts.durationSeconds],
      );
    },
  };
}

interface Answer {
  request_id?: string;
  status?: string;
  video?: { url: string };
}

/** One call to the provider. A failure fails the job, which graphile-worker then tries again. */
async function call(url: string, init: RequestInit = {}): Promise<Answer> {
  const headers = { authorization: 'Key bench', 'content-type': 'application/json' };
  const response = await fetch(url, { ...init, headers });
  if (!response.ok) throw new Error(`${url} got ${response.status}`);
  return (await response.json()) as Answer;
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  await handle.sync();
  await handle.close();
}
