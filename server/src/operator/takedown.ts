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

// The renders of the local provider are its own copies of outputs: their task_id is a job. The
// poster of an output is deleted with it.
const TAKE_DOWN = statement(
  'takedown_mark',
  `update objects set taken_down_at = clock_now(),
     state = case state when 'deleted' then 'deleted' else 'deleting' end
   where taken_down_at is null and (id = $1 or (role = 'poster' and task_id = $2)
     or (role = 'render' and task_id = any(array(
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
    if (!object) return takeDownArchived(tx, id);
    const changed = object.taken_down_at === null;
    if (changed) {
      if (object.is_live) throw stillNeeded(object);
      await tx.query(TAKE_DOWN, [object.id, object.role === 'output' ? object.task_id : '']);
    }
    return { object_id: object.id, task_id: object.task_id, taken_down: true, changed };
  });
}

// The files of an archived task are deleted: only the record of the takedown is left to make.
const ARCHIVED = statement(
  'takedown_archived',
  `select id, output_object_id, taken_down_at from archived_tasks
   where id = $1 or output_object_id = $1 for update`,
);

const TAKE_DOWN_ARCHIVED = statement(
  'takedown_archived_mark',
  'update archived_tasks set taken_down_at = clock_now() where id = $1',
);

interface ArchivedOutput {
  id: string;
  output_object_id: string | null;
  taken_down_at: Date | null;
}

async function takeDownArchived(tx: Transaction, id: string) {
  const [task] = await tx.query<ArchivedOutput>(ARCHIVED, [id]);
  if (!task?.output_object_id) {
    throw new UsageError(`there is no object ${JSON.stringify(id)}, and no task with an output`);
  }
  const changed = task.taken_down_at === null;
  if (changed) await tx.query(TAKE_DOWN_ARCHIVED, [task.id]);
  return { object_id: task.output_object_id, task_id: task.id, taken_down: true, changed };
}

async function lockObject(tx: Transaction, id: string): Promise<Found | undefined> {
  const [object] = await tx.query<Found>(FIND, [id]);
  return object;
}

function stillNeeded({ id, role, task_id: task, phase }: Found): UsageError {
  return new UsageError(
    `${task} is ${phase} and needs its ${role} ${id}: cancel the task first ` +
      '(npx framewright tasks cancel), or wait until it has ended',
  );
}
