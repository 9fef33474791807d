import type { ComponentChildren } from 'preact';
import { formatMoney, moneyUnits } from '../../../../server/src/kernel/currency.ts';
import type { Credits as CreditsOf, OnSale } from '../../../../server/src/site/billing/credits.ts';
import { api } from '../../api.ts';
import { type Draft, useDraft } from '../../draft.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Select, Switch } from '../../ui/form/controls.tsx';
import { binding, Field, Problem, type TextProps } from '../../ui/form/field.tsx';
import { submitting, useSending } from '../../ui/form/sending.tsx';
import { formatNumber } from '../../ui/format.tsx';
import { toast } from '../../ui/toast.tsx';

interface Props {
  credits: CreditsOf;
  packs: OnSale['packs'];
  onChange: () => Promise<void>;
}

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
        {canReload && <AutoReload {...props} />}
      </div>
    </Card>
  );
}

interface SettingProps {
  label: string;
  hint: string;
  /** Whether it is on, according to the server. */
  isSet: boolean;
  /** The entered fields, and whether it should be on. */
  draft: Draft<{ isOn: boolean }>;
  save: (isOn: boolean) => Promise<unknown>;
  said: { on: string; off: string };
  saveLabel: string;
  /** Shown above the fields, even while off. */
  notice?: ComponentChildren;
  children: ComponentChildren;
  onChange: Props['onChange'];
}

/** A switch with a form: turning it on shows the form, turning it off saves at once. */
function Setting({ label, hint, isSet, draft, save, said, ...rest }: SettingProps) {
  const { isOn } = draft.value;
  const { isBusy, failure, send } = useSending(async (wanted: boolean) => {
    await save(wanted);
    await rest.onChange();
    draft.drop();
    toast(wanted ? said.on : said.off);
  });
  return (
    <form class="grid content-start gap-5" onSubmit={submitting(() => send(true))}>
      <Switch
        label={label}
        hint={hint}
        checked={isOn}
        onChange={(wanted) => {
          draft.set({ isOn: wanted });
          if (!wanted && isSet) void send(false);
        }}
      />
      {rest.notice}
      {isOn && (
        <>
          {rest.children}
          <div>
            <Button type="submit" busy={isBusy}>
              {rest.saveLabel}
            </Button>
          </div>
        </>
      )}
      <Problem>{failure?.message}</Problem>
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

function Alert({ credits: { alert_below: known }, onChange }: Props) {
  const isSet = known !== null;
  const draft = useDraft('alert', () => ({ isOn: isSet, below: String(known ?? 500) }));
  const { below } = draft.value;
  return (
    <Setting
      label="Send me an e-mail"
      hint="Once each time your paid credits fall below a number that you choose."
      isSet={isSet}
      draft={draft}
      save={(isOn) =>
        api('PUT /console/api/low-balance', { body: { below: isOn ? Number(below) : null } })
      }
      said={{
        on: 'You will get an e-mail when your balance is low.',
        off: 'Low-balance e-mails are off.',
      }}
      saveLabel="Save alert"
      onChange={onChange}
    >
      <BelowField {...binding(draft.value, draft.set)('below')} />
    </Setting>
  );
}

function AutoReload({ credits: { auto_reload: known }, packs, onChange }: Props) {
  const packOf = (packId: string) => packs.find(({ id }) => id === packId) ?? packs[0];
  const draft = useDraft('reload', () => initialReload(known, packOf(known?.pack_id ?? '')));
  const { packId, below, limit } = draft.value;
  const field = binding(draft.value, draft.set);
  const pack = packOf(packId);
  if (!pack) return null;
  const { perWhole, step } = moneyUnits(pack.currency);
  const monthly_limit = Math.round(Number(limit) * perWhole);
  const wanted = { pack_id: pack.id, below: Number(below), monthly_limit };
  return (
    <Setting
      label="Auto-reload"
      hint="Buys a pack with your saved card when your paid credits fall below a number, up to a limit each month."
      isSet={known !== null}
      draft={draft}
      save={(isOn) =>
        api('PUT /console/api/auto-reload', { body: { auto_reload: isOn ? wanted : null } })
      }
      said={{ on: 'Auto-reload is on.', off: 'Auto-reload is off.' }}
      saveLabel="Save auto-reload"
      notice={
        known?.stopped && (
          <p role="alert" class="border-l-4 border-l-bad pl-4">
            Auto-reload has stopped: {known.stopped.replaceAll('_', ' ')}. Check the pack and your
            card, then save again.
          </p>
        )
      }
      onChange={onChange}
    >
      <Select
        label="Buy this pack"
        choices={packs.map(choiceOf)}
        {...field('packId')}
        value={pack.id}
      />
      <div class="grid gap-5 sm:grid-cols-2">
        <BelowField {...field('below')} />
        <Field
          label={`At most each month, ${pack.currency.toUpperCase()}`}
          type="number"
          min={pack.price / perWhole}
          step={step / perWhole}
          required
          {...field('limit')}
        />
      </div>
    </Setting>
  );
}

/** The saved fields, by default up to three packs a month. */
function initialReload(known: CreditsOf['auto_reload'], pack: Props['packs'][number] | undefined) {
  const most = known?.monthly_limit ?? (pack?.price ?? 0) * 3;
  return {
    isOn: known !== null,
    packId: pack?.id ?? '',
    below: String(known?.below ?? 500),
    limit: String(most / moneyUnits(pack?.currency ?? 'usd').perWhole),
  };
}

function choiceOf({ id, name, credits, price, currency }: Props['packs'][number]) {
  const words = `${name}: ${formatNumber(credits)} credits, ${formatMoney(price, currency)}`;
  return { value: id, label: words };
}
