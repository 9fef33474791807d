import { type Database, statement, type Transaction } from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { type Action, performAction } from './actions.ts';

const FIND = statement(
  'takedown_find',
  `select o.id, o.role, o.state, o.task_id, o.taken_down_at, t.phase,
     t.phase is not null and t.phase not in ('completed', 'failed') as is_live
   from objects o left join tasks t on t.id = o.task_id
   where o.id = $1 or o.id = (select output_object_id from tasks where id = $1)
   for update of o`,
);

interface Found {
  id: string;
  role: string;
  state: 'writing' | 'ready' | 'deleting' | 'deleted';
  task_id: string;
  taken_down_at: Date | null;
  phase: string | null;
  is_live: boolean;
}

// The renders of the local provider are its own copies of outputs: their task_id is a job.
const TAKE_DOWN = statement(
  'takedown_mark',
  `update objects set taken_down_at = clock_now(),
     state = case state when 'deleted' then 'deleted' else 'deleting' end
   where taken_down_at is null and (id = $1 or (role = 'render' and task_id = any(array(
     select job_id from attempts where task_id = $2 and job_id is not null))))`,
);

/**
 * Removes a stored file before the end of its retention. From the commit on it is not served, and a
 * worker deletes its bytes within seconds.
 * @param id of an object, or of a task, whose output it then is
 * @returns changed: false when it was taken down before
 * @throws UsageError when there is no such file, or a live task still needs it
 */
export function takeDown(db: Database, action: Action, id: string) {
  return performAction(db, action, { target: id }, async (tx) => {
    const object = await lockObject(tx, id);
    const changed = object.taken_down_at === null;
    if (changed) {
      if (object.is_live) throw stillNeeded(object);
      await tx.query(TAKE_DOWN, [object.id, object.role === 'output' ? object.task_id : '']);
    }
    return { object_id: object.id, task_id: object.task_id, taken_down: true, changed };
  });
}

async function lockObject(tx: Transaction, id: string): Promise<Found> {
  const [object] = await tx.query<Found>(FIND, [id]);
  if (!object) {
    throw new UsageError(`there is no object ${JSON.stringify(id)}, and no task with an output`);
  }
  return object;
}

function stillNeeded({ id, role, task_id: task, phase }: Found): UsageError {
  return new UsageError(
    `${task} is ${phase} and needs its ${role} ${id}: cancel the task first ` +
      '(npx framewright tasks cancel), or wait until it has ended',
  );
}
