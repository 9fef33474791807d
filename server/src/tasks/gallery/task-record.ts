import { queryFirst } from '../../database/database.ts';
import { objectsOfTask, posterOf } from '../../storage/object-sql.ts';
import { HISTORY_OF_TASK, type Phase, TASK_COLUMNS, type Task } from '../task.ts';

/** The record of a stored file. Times in records are ISO strings. */
interface RecordedFile {
  id: string;
  role: string;
  state: 'writing' | 'ready' | 'deleting' | 'deleted';
  media_type: string;
  size_bytes: number | null;
  delete_after: string | null;
  taken_down_at: string | null;
}

/** Why a task moved, as its account may see it. */
interface HistoryCause {
  cancelled_by?: 'customer' | 'operator';
  /** The reason of an operator who cancelled the task. */
  operator?: string | null;
}

/** A task with the records that its account may see. */
export interface TaskRecord extends Task {
  api_key_id: string | null;
  request_id: string | null;
  output_facts: {
    mediaType: string;
    width: number;
    height: number;
    durationSeconds: number;
    frames: number;
    videoCodec: string;
    audio: { codec: string } | null;
  } | null;
  /** Its transitions after the create, oldest first. */
  history: { at: string; phase: Phase; cause: HistoryCause | null }[];
  files: RecordedFile[];
}

const EXTRA = 'tasks.api_key_id, tasks.request_id, tasks.output_facts';

/** An account's task on any surface, if there is one. */
export const readTaskRecord = queryFirst<[accountId: string, id: string], TaskRecord>(
  'gallery_task',
  `select ${TASK_COLUMNS}, ${EXTRA}, ${HISTORY_OF_TASK} as history,
     ${objectsOfTask('tasks.id')} as files
   from tasks where account_id = $1 and id = $2`,
);

/** The stored poster of an account's task, if there is one. */
export const accountPoster = queryFirst<
  [accountId: string, taskId: string],
  { id: string; size_bytes: number }
>(
  'gallery_poster',
  `select p.id, p.size_bytes from tasks cross join lateral (${posterOf('tasks.id')}) p
   where tasks.account_id = $1 and tasks.id = $2`,
);
