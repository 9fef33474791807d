import {
  namedStatement,
  query,
  queryColumn,
  type Transaction,
  whether,
} from '../database/database.ts';
import { jsonText } from '../database/json-text.ts';
import type { Route } from './route.ts';

export interface StoredRoute extends Route {
  model: string;
  /** Whether a job that failed, certainly unbilled, is tried once at the next connection. */
  retry_failed: boolean;
  changed_at: Date;
}

export const listRoutes = query<[], StoredRoute>(
  'routes_list',
  'select model, choice, steps, retry_failed, changed_at from routes order by model',
);

/** The models whose routes name the connection: their tasks may wait for it at another step. */
export const modelsThrough = queryColumn<[connection: string], string>(
  'routes_through',
  `select model from routes where steps @> jsonb_build_array(jsonb_build_object('connection', $1::text))`,
);

const SAVE = namedStatement(
  'route_save',
  `insert into routes (model, choice, steps, retry_failed)
   values (:model, :choice, :steps::jsonb, :retryFailed)
   on conflict (model) do update
     set choice = excluded.choice, steps = excluded.steps, retry_failed = excluded.retry_failed,
       changed_at = clock_now()
     where (routes.choice, routes.steps, routes.retry_failed)
       is distinct from (excluded.choice, excluded.steps, excluded.retry_failed)
   returning model`,
);

/** @returns whether this changed the route */
export async function saveRoute(
  tx: Transaction,
  { model, choice, steps, retry_failed: retryFailed }: Omit<StoredRoute, 'changed_at'>,
): Promise<boolean> {
  const values = SAVE.values({ model, choice, steps: jsonText(steps), retryFailed });
  return (await tx.query(SAVE, values)).length > 0;
}

/** Deletes a route: the model's tasks go to PROVIDER again. @returns whether there was one */
export const deleteRoute = whether<[model: string], Transaction>(
  'route_delete',
  'delete from routes where model = $1 returning model',
);
