import type { ComponentChildren } from 'preact';
import { formatMoney, moneyUnits } from '../../../../server/src/kernel/currency.ts';
import type { Credits as CreditsOf } from '../../../../server/src/site/billing/credits.ts';
import type { OnSale } from '../../../../server/src/site/billing/packs.ts';
import { api } from '../../api.ts';
import { useDraft } from '../../draft.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Select, Switch } from '../../ui/form/controls.tsx';
import { Field, type TextProps } from '../../ui/form/field.tsx';
import { useSending } from '../../ui/form/sending.tsx';
import { formatNumber } from '../../ui/format.tsx';
import { toast } from '../../ui/toast.tsx';

interface Props {
  credits: CreditsOf;
  packs: OnSale['packs'];
  onChange: () => Promise<void>;
}

/** What happens when paid credits run low. */
export function LowBalance(props: Props) {
  const canReload = props.credits.sells && props.packs.length > 0;
  return (
    <Card
      title="When credits run low"
      note={
        canReload
          ? 'A request that costs more than your balance is refused. Get an e-mail before that happens, or buy a pack automatically.'
          : 'A request that costs more than your balance is refused. Get an e-mail before that happens.'
      }
    >
      <div class="grid gap-x-16 gap-y-9 lg:grid-cols-2">
        <Alert {...props} />
        {canReload && <Reload {...props} />}
      </div>
    </Card>
  );
}

interface Save {
  send: () => Promise<unknown>;
  /** What the customer then reads. */
  done: string;
}

interface SettingProps {
  label: string;
  hint: string;
  /** Whether it is on at the server. */
  isSet: boolean;
  /** Names what is entered. */
  name: string;
  on: Save;
  off: Save;
  saveLabel: string;
  /** Shown above the fields, also while it is off. */
  notice?: ComponentChildren;
  /** The fields that it needs. */
  children: ComponentChildren;
  onChange: Props['onChange'];
  onSaved: () => void;
}

/** A switch with a form: switching it on shows the form, switching it off is saved at once. */
function Setting({ label, hint, isSet, name, on, off, ...rest }: SettingProps) {
  const { value, set, drop } = useDraft(`switch ${name}`, () => ({ isOn: isSet }));
  const { isOn } = value;
  const sending = useSending(async ({ send, done }: Save) => {
    await send();
    await rest.onChange();
    drop();
    rest.onSaved();
    toast(done);
  });
  return (
    <form
      class="grid content-start gap-5"
      onSubmit={(event) => {
        event.preventDefault();
        void sending.send(on);
      }}
    >
      <Switch
        label={label}
        hint={hint}
        checked={isOn}
        onChange={(wanted) => {
          set({ isOn: wanted });
          if (!wanted && isSet) void sending.send(off);
        }}
      />
      {rest.notice}
      {isOn && (
        <>
          {rest.children}
          <div>
            <Button type="submit" busy={sending.isBusy}>
              {rest.saveLabel}
            </Button>
          </div>
        </>
      )}
      <p role="alert" class="text-sm text-bad empty:hidden">
        {sending.failure?.message}
      </p>
    </form>
  );
}

function BelowField(field: Pick<TextProps, 'value' | 'onChange'>) {
  return (
    <Field
      label="Below how many paid credits?"
      type="number"
      min={1}
      max={1_000_000_000}
      step={1}
      required
      {...field}
    />
  );
}

function Alert({ credits, onChange }: Props) {
  const { value, set, drop } = useDraft('alert', () => ({
    below: String(credits.alert_below ?? 500),
  }));
  const { below } = value;
  const save = (limit: number | null) =>
    api('PUT /console/api/low-balance', { body: { below: limit } });
  return (
    <Setting
      label="Send me an e-mail"
      hint="Once each time your paid credits fall below a number that you choose."
      isSet={credits.alert_below !== null}
      name="alert"
      on={{
        send: () => save(Number(below)),
        done: 'You will get an e-mail when your balance is low.',
      }}
      off={{ send: () => save(null), done: 'Low-balance e-mails are off.' }}
      saveLabel="Save alert"
      onChange={onChange}
      onSaved={drop}
    >
      <BelowField value={below} onChange={(text) => set({ below: text })} />
    </Setting>
  );
}

function Reload({ credits, packs, onChange }: Props) {
  const known = credits.auto_reload;
  const packOf = (packId: string) => packs.find(({ id }) => id === packId) ?? packs[0];
  const { value, set, drop } = useDraft('reload', () => {
    const first = packOf(known?.pack_id ?? '');
    const most = known?.monthly_limit ?? (first?.price ?? 0) * 3;
    return {
      packId: first?.id ?? '',
      below: String(known?.below ?? 500),
      limit: String(most / moneyUnits(first?.currency ?? 'usd').perWhole),
    };
  });
  const { below, limit } = value;
  const pack = packOf(value.packId);
  if (!pack) return null;
  const { perWhole, step } = moneyUnits(pack.currency);
  const monthly_limit = Math.round(Number(limit) * perWhole);
  const wanted = { pack_id: pack.id, below: Number(below), monthly_limit };
  const save = (auto_reload: typeof wanted | null) =>
    api('PUT /console/api/auto-reload', { body: { auto_reload } });
  return (
    <Setting
      label="Auto-reload"
      hint="Buys a pack with your saved card when your paid credits fall below a number, up to a limit each month."
      isSet={known !== null}
      name="reload"
      on={{ send: () => save(wanted), done: 'Auto-reload is on.' }}
      off={{ send: () => save(null), done: 'Auto-reload is off.' }}
      saveLabel="Save auto-reload"
      notice={known?.stopped && <Stopped why={known.stopped} />}
      onChange={onChange}
      onSaved={drop}
    >
      <PackPicker pack={pack} packs={packs} onChange={(packId) => set({ packId })} />
      <div class="grid gap-5 sm:grid-cols-2">
        <BelowField value={below} onChange={(text) => set({ below: text })} />
        <Field
          label={`At most each month, ${pack.currency.toUpperCase()}`}
          type="number"
          min={pack.price / perWhole}
          step={step / perWhole}
          required
          value={limit}
          onChange={(limit) => set({ limit })}
        />
      </div>
    </Setting>
  );
}

function PackPicker({
  pack,
  packs,
  onChange,
}: {
  pack: Props['packs'][number];
  packs: Props['packs'];
  onChange: (packId: string) => void;
}) {
  const choices = packs.map(({ id, name, credits, price, currency }) => ({
    value: id,
    label: `${name}: ${formatNumber(credits)} credits, ${formatMoney(price, currency)}`,
  }));
  return <Select label="Buy this pack" value={pack.id} choices={choices} onChange={onChange} />;
}

function Stopped({ why }: { why: string }) {
  return (
    <p role="alert" class="border-l-4 border-l-bad pl-4">
      Auto-reload has stopped: {why.replaceAll('_', ' ')}. Check your card, then save again.
    </p>
  );
}
