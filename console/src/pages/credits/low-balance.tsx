import { useState } from 'preact/hooks';
import type { Credits as CreditsOf } from '../../../../server/src/site/billing/credits.ts';
import type { OnSale } from '../../../../server/src/site/billing/packs.ts';
import { api } from '../../api.ts';
import { asFailure } from '../../load.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Select, Switch } from '../../ui/form/controls.tsx';
import { Field } from '../../ui/form/field.tsx';
import { formatMoney, formatNumber } from '../../ui/format.tsx';
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

/** A form that is sent by one function: whether it works, and what went wrong. */
function useSaving(onChange: Props['onChange']) {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState('');
  const save = async (path: string, body: object, done: string) => {
    setBusy(true);
    setFailure('');
    try {
      await api(path, { method: 'PUT', body });
      await onChange();
      toast(done);
    } catch (error) {
      setFailure(asFailure(error).message);
    }
    setBusy(false);
  };
  return { isBusy, failure, save };
}

function Failure({ text }: { text: string }) {
  return (
    <p role="alert" class="text-sm text-bad empty:hidden">
      {text}
    </p>
  );
}

function Alert({ credits, onChange }: Props) {
  const [below, setBelow] = useState(String(credits.alert_below ?? 500));
  const [isOn, setOn] = useState(credits.alert_below !== null);
  const { isBusy, failure, save } = useSaving(onChange);
  const put = (value: number | null, done: string) =>
    save('/console/api/low-balance', { below: value }, done);
  return (
    <form
      class="grid content-start gap-5"
      onSubmit={(event) => {
        event.preventDefault();
        void put(Number(below), 'You will get an e-mail when your balance is low.');
      }}
    >
      <Switch
        label="Send me an e-mail"
        hint="Once each time your paid credits fall below a number that you choose."
        checked={isOn}
        onChange={(on) => {
          setOn(on);
          if (!on && credits.alert_below !== null) void put(null, 'Low-balance e-mails are off.');
        }}
      />
      {isOn && (
        <>
          <Field
            label="Below how many paid credits?"
            type="number"
            min={1}
            max={1_000_000_000}
            step={1}
            required
            value={below}
            onInput={(event) => setBelow(event.currentTarget.value)}
          />
          <div>
            <Button type="submit" busy={isBusy}>
              Save alert
            </Button>
          </div>
        </>
      )}
      <Failure text={failure} />
    </form>
  );
}

/** Minor units of a currency in one of its major units. */
function unitsOf(currency: string): number {
  const format = new Intl.NumberFormat('en-US', { style: 'currency', currency });
  return 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2);
}

function Reload({ credits, packs, onChange }: Props) {
  const known = credits.auto_reload;
  const [isOn, setOn] = useState(known !== null);
  const [packId, setPackId] = useState(known?.pack_id ?? packs[0]?.id ?? '');
  const pack = packs.find(({ id }) => id === packId) ?? packs[0];
  const [below, setBelow] = useState(String(known?.below ?? 500));
  const units = unitsOf(pack?.currency ?? 'usd');
  const [limit, setLimit] = useState(
    String((known?.monthly_limit ?? (pack?.price ?? 0) * 3) / units),
  );
  const { isBusy, failure, save } = useSaving(onChange);
  const put = (body: object | null, done: string) =>
    save('/console/api/auto-reload', { auto_reload: body }, done);
  if (!pack) return null;
  const submit = () => {
    const monthly_limit = Math.round(Number(limit) * units);
    const wanted = { pack_id: pack.id, below: Number(below), monthly_limit };
    void put(wanted, 'Auto-reload is on.');
  };
  return (
    <form
      class="grid content-start gap-5"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <Switch
        label="Auto-reload"
        hint="Buys a pack with your saved card when your paid credits fall below a number, up to a limit each month."
        checked={isOn}
        onChange={(on) => {
          setOn(on);
          if (!on && known !== null) void put(null, 'Auto-reload is off.');
        }}
      />
      {known?.stopped && (
        <p role="alert" class="border-l-4 border-l-bad pl-4">
          Auto-reload has stopped: {known.stopped.replaceAll('_', ' ')}. Check your card, then save
          again.
        </p>
      )}
      {isOn && (
        <>
          <Select
            label="Buy this pack"
            value={pack.id}
            choices={packs.map((one) => ({
              value: one.id,
              label: `${one.name}: ${formatNumber(one.credits)} credits, ${formatMoney(one.price, one.currency)}`,
            }))}
            onChange={setPackId}
          />
          <div class="grid gap-5 sm:grid-cols-2">
            <Field
              label="Below how many paid credits?"
              type="number"
              min={1}
              max={1_000_000_000}
              step={1}
              required
              value={below}
              onInput={(event) => setBelow(event.currentTarget.value)}
            />
            <Field
              label={`At most each month, ${pack.currency.toUpperCase()}`}
              type="number"
              min={pack.price / units}
              step={1 / units}
              required
              value={limit}
              onInput={(event) => setLimit(event.currentTarget.value)}
            />
          </div>
          <div>
            <Button type="submit" busy={isBusy}>
              Save auto-reload
            </Button>
          </div>
        </>
      )}
      <Failure text={failure} />
    </form>
  );
}
