import { isDatabaseUnavailable } from '../src/database/database.ts';
import { ApiError } from '../src/kernel/errors.ts';
import {
  type CreateDeps,
  type Created,
  createAccountGroup,
  failedCreate,
} from '../src/tasks/create/create.ts';
import type { CheckedRequest } from '../src/tasks/create/new-task.ts';

/** Creates the task of a request in a transaction of its own. */
export async function createTask(deps: CreateDeps, checked: CheckedRequest): Promise<Created> {
  const [outcome] = await createAccountGroup(deps, [checked]).catch((error: unknown) => {
    throw isDatabaseUnavailable(error) ? failedCreate(deps.log, error) : error;
  });
  if (!outcome || outcome instanceof ApiError) throw outcome;
  return outcome;
}
