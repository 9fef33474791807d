import { type Database, statement } from '../../database/database.ts';
import { ARCHIVED } from '../archived.ts';
import { type Phase, TASK_COLUMNS, type Task } from '../task.ts';

/** What is known of a stored file. Times in records are ISO texts. */
interface RecordedFile {
  id: string;
  role: string;
  state: 'writing' | 'ready' | 'deleting' | 'deleted';
  media_type: string;
  size_bytes: number | null;
  delete_after: string | null;
  taken_down_at: string | null;
}

/** A task with what its account may see of its records. */
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
  /** Its transitions, oldest first; the create is not among them. */
  history: { at: string; phase: Phase }[];
  files: RecordedFile[];
  archived_at: Date | null;
}

const EXTRA = 'tasks.api_key_id, tasks.request_id, tasks.output_facts';

const READ = statement(
  'gallery_task',
  `select ${TASK_COLUMNS}, ${EXTRA}, null::timestamptz as archived_at,
     coalesce((select jsonb_agg(jsonb_build_object('at', h.at, 'phase', h.phase) order by h.at)
       from task_history h where h.task_id = tasks.id), '[]') as history,
     coalesce((select jsonb_agg(jsonb_build_object('id', o.id, 'role', o.role, 'state', o.state,
         'media_type', o.media_type, 'size_bytes', o.size_bytes, 'delete_after', o.delete_after,
         'taken_down_at', o.taken_down_at) order by o.created_at)
       from objects o where o.task_id = tasks.id), '[]') as files
   from tasks where tasks.id = $1 and tasks.account_id = $2`,
);

const READ_ARCHIVED = statement(
  'gallery_archived_task',
  `select ${TASK_COLUMNS}, ${EXTRA}, a.archived_at, a.record->'history' as history,
     a.record->'objects' as files
   from ${ARCHIVED} where a.id = $1 and a.account_id = $2`,
);

/** A task of the account, of any surface, also an archived one; undefined if it has none. */
export async function readTaskRecord(
  db: Database,
  accountId: string,
  id: string,
): Promise<TaskRecord | undefined> {
  for (const read of [READ, READ_ARCHIVED]) {
    const [task] = await db.query<TaskRecord>(read, [id, accountId]);
    if (task) return task;
  }
  return undefined;
}
