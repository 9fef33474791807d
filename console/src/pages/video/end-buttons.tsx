import { useState } from 'preact/hooks';
import type { ShownTask } from '../../../../server/src/site/tasks/shown-task.ts';
import { api } from '../../api.ts';
import { Button } from '../../ui/button.tsx';
import { FormDialog } from '../../ui/form/form-dialog.tsx';
import { toast } from '../../ui/toast.tsx';

interface Props {
  task: ShownTask;
  /** Reads the task again. */
  onChange: () => Promise<void>;
}

/** Cancels a video that is being made, or deletes one that is there. */
export function EndButtons(props: Props) {
  const { status, held, video_url: url } = props.task;
  if (status === 'processing' && held === null) return <CancelButton {...props} />;
  return url === null ? null : <DeleteButton {...props} />;
}

const SAID = {
  cancelled: 'The video is cancelled. Its credits are refunded.',
  pending: 'The video is being cancelled. This page shows how it ends.',
  video_is_finished: 'Too late to cancel: the video is finished.',
  provider_cannot: 'This video can’t be cancelled any more. It goes on.',
};

function CancelButton({ task: { id }, onChange }: Props) {
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  const cancel = async () => {
    const { cancel: outcome, refusal } = await api('POST /console/api/tasks/:id/cancel', {
      params: { id },
    });
    close();
    toast(SAID[outcome === 'refused' ? (refusal ?? 'provider_cannot') : outcome]);
    await onChange();
  };
  return (
    <>
      <Button onClick={() => setOpen(true)}>Cancel</Button>
      {isOpen && (
        <FormDialog
          title="Cancel this video?"
          action="Cancel the video"
          dismiss="Keep it"
          isDangerous
          onClose={close}
          onSend={cancel}
        >
          {() => (
            <p class="text-dim">
              If it can still be stopped, no video is made and its credits are refunded. If not, it
              goes on and is charged as usual.
            </p>
          )}
        </FormDialog>
      )}
    </>
  );
}

function DeleteButton({ task: { id }, onChange }: Props) {
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  const remove = async () => {
    await api('DELETE /console/api/tasks/:id/output', { params: { id } });
    close();
    toast('The video is deleted.');
    await onChange();
  };
  return (
    <>
      <Button icon="trash" onClick={() => setOpen(true)}>
        Delete
      </Button>
      {isOpen && (
        <FormDialog
          title="Delete this video?"
          action="Delete the video"
          isDangerous
          onClose={close}
          onSend={remove}
        >
          {() => (
            <p class="text-dim">
              Its file is deleted for good, and its links stop working. The credits stay charged.
            </p>
          )}
        </FormDialog>
      )}
    </>
  );
}
