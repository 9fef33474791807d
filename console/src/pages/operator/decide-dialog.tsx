import { useDraft } from '../../draft.ts';
import type { OperatorTask } from '../../operator-shapes.ts';
import { Field } from '../../ui/form/field.tsx';
import { VerbDialog } from '../operator-verbs/verb-dialog.tsx';

const DECISIONS = [
  {
    value: 'accepted',
    words: 'There is a job',
    effect: 'The task goes on with this job, and its video is fetched.',
  },
  {
    value: 'not_accepted',
    words: 'There is certainly no job',
    effect:
      'Treated as refused by the provider: submitted again while there is time, otherwise refunded.',
  },
  {
    value: 'failed',
    words: 'End it with a refund',
    effect: 'A job that turns up later becomes an orphan job, which you may have to pay for.',
  },
];

/** The decisions of `framewright reconcile`. Only a held task can have all of them. */
export function DecideDialog({
  task,
  onClose,
  onDone,
}: {
  task: OperatorTask;
  onClose: () => void;
  onDone: () => unknown;
}) {
  const isHeld = task.phase === 'held';
  const { value, set, drop } = useDraft(`decision ${task.id}`, () => ({ decision: '', jobId: '' }));
  const { jobId } = value;
  const decision = isHeld ? value.decision : 'failed';
  const knowledge = decision === 'accepted' ? { accepted: jobId } : { [decision]: true };
  return (
    <VerbDialog
      change={{
        verb: 'reconcile',
        given: { id: task.id, ...knowledge },
        ...(!isHeld && { effect: 'The task is not held: it can only be ended.' }),
      }}
      onClose={() => {
        drop();
        onClose();
      }}
      onDone={onDone}
    >
      <fieldset class="grid gap-3">
        <legend class="mb-2 font-medium">What you know</legend>
        {DECISIONS.filter(({ value: one }) => isHeld || one === 'failed').map((one) => (
          <Decision
            key={one.value}
            {...one}
            isChosen={decision === one.value}
            onChoose={() => set({ decision: one.value })}
          />
        ))}
      </fieldset>
      {decision === 'accepted' && (
        <Field
          label="The job’s id at the provider"
          value={jobId}
          onChange={(jobId) => set({ jobId })}
          required
          autoComplete="off"
        />
      )}
    </VerbDialog>
  );
}

function Decision({
  words,
  effect,
  isChosen,
  onChoose,
}: (typeof DECISIONS)[number] & { isChosen: boolean; onChoose: () => void }) {
  return (
    <label class="flex gap-3 border border-line p-3 has-checked:border-edge">
      <input
        type="radio"
        name="decision"
        required
        checked={isChosen}
        onChange={onChoose}
        class="mt-1 accent-tungsten"
      />
      <span>
        <span class="font-medium">{words}</span>
        <span class="block text-sm text-dim">{effect}</span>
      </span>
    </label>
  );
}
