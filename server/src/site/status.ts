import type { CatalogDeps, CatalogModel } from '../catalog/catalog.ts';
import { offeredModels } from '../catalog/catalog.ts';
import type { Resolution } from '../catalog/models.ts';
import { priceAt } from '../catalog/price.ts';
import type { GenerationRequest } from '../catalog/request.ts';
import type { Database } from '../database/database.ts';
import { listProviders, showCreates } from '../operator/verbs/providers.ts';
import type { Routing } from '../routing/routing.ts';
import { type UsualTime, usualTimes } from '../worker/job-times.ts';
import { runningConnections } from '../worker/live-workers.ts';
import { siteRoute } from './route.ts';

export interface StatusDeps extends CatalogDeps {
  db: Database;
  routing: Pick<Routing, 'usualConnectionsFor'>;
}

/**
 * Which models work now, and how long their jobs usually take. Customers and their monitors read it,
 * so it names no provider. A model works at a resolution if a connection of its route takes jobs.
 */
export const getStatus = siteRoute('GET /status.json', {
  access: 'public',
  async handle({ db, catalog, now, routing }: StatusDeps) {
    const [connections, times, { creates }] = await Promise.all([
      connectionsThatTakeJobs(db),
      usualTimes(db),
      showCreates(db),
    ]);
    const at = new Date(now());
    const rows = offeredModels(catalog.current()).flatMap((model) =>
      Object.keys(priceAt(model, at).standard).map((resolution) => {
        const route = connectionsOf(model, resolution as Resolution, routing);
        const taking = route.filter((name) => connections.has(name));
        const { name, title } = model;
        const used = times.filter((time) => {
          const isUsed = (taking.length > 0 ? taking : route).includes(time.provider);
          return isUsed && time.model === name && time.resolution === resolution;
        });
        const works = creates === 'open' && taking.length > 0;
        return { model: name, title, resolution, works, usual_seconds: meanOf(used) };
      }),
    );
    return { items: rows };
  },
});

/** The connections of running workers, except those that are paused, closed or refuse all jobs. */
async function connectionsThatTakeJobs(db: Database): Promise<Set<string>> {
  const [providers, running] = await Promise.all([listProviders(db), runningConnections(db)]);
  const open = providers.filter(({ state }) => state === 'open').map(({ provider }) => provider);
  return new Set(open.filter((name) => running.includes(name)));
}

/** The connections that take some request of a model at a resolution, whatever its mode or length. */
function connectionsOf(
  { name: model, modes, durations, aspectRatios }: CatalogModel,
  resolution: Resolution,
  routing: StatusDeps['routing'],
): string[] {
  const [aspect_ratio = '16:9'] = aspectRatios;
  const requests = modes.flatMap((mode) =>
    durations.map((duration): GenerationRequest => {
      return { ...PLAIN_REQUEST, mode, model, resolution, duration, aspect_ratio };
    }),
  );
  return [...new Set(requests.flatMap((request) => routing.usualConnectionsFor(request)))];
}

const PLAIN_REQUEST = {
  prompt: '',
  reference_image_urls: [],
  reference_video_urls: [],
  generate_audio: true,
};

function meanOf(times: UsualTime[]): number | null {
  const jobs = times.reduce((sum, time) => sum + time.jobs, 0);
  if (jobs === 0) return null;
  return times.reduce((sum, time) => sum + time.meanSeconds * time.jobs, 0) / jobs;
}
