import { useList } from '../../load.ts';
import type { Item } from '../../site-api.ts';
import { labelOf } from '../../ui/format.tsx';
import { type Column, column, prose } from '../../ui/table.tsx';
import { AskButton, ListPage } from './frame.tsx';
import type { Change } from './verb-dialog.tsx';

type Setting = Item<'GET /console/api/operator/verbs/brand/show'>;

export function BrandPage() {
  const list = useList('/console/api/operator/verbs/brand/show');
  return (
    <ListPage
      title="Brand"
      lead="What customers see on pages, in mails and in documents. Reload a page to see a change."
      list={list}
      empty={null}
      columns={[...SETTINGS, removeColumn(list.items ?? [])]}
      keyOf={({ setting }) => setting}
      actions={
        list.items?.some((setting) => !isFixed(setting)) && (
          <AskButton look="primary" change={changeOf(list.items)}>
            Change the brand
          </AskButton>
        )
      }
    />
  );
}

/** Asks for the settings that no variable fixes. */
function changeOf(settings: Setting[]): Change {
  const own = settings.filter(({ set_by: by }) => by === 'operator');
  const texts = own.filter(({ setting }) => setting !== 'logo');
  return {
    verb: 'brand set',
    initial: Object.fromEntries(texts.map(({ setting, value }) => [setting, value ?? ''])),
    without: settings.filter(isFixed).map(({ setting }) => setting),
  };
}

/** Unlike a text, a file can't be cleared in the form, so the logo has a button. */
function removeColumn(settings: Setting[]): Column<Setting> {
  return column('', ({ setting, set_by: by }) =>
    setting === 'logo' && by === 'operator' ? (
      <AskButton
        small
        item="the logo"
        change={{
          verb: 'brand set',
          title: 'Remove the logo',
          effect: 'The default logo takes its place.',
          given: { logo: 'none' },
          without: settings.map((other) => other.setting),
        }}
      >
        Remove
      </AskButton>
    ) : null,
  );
}

function isFixed({ set_by: by }: Setting): boolean {
  return by !== 'operator' && by !== 'default';
}

const SETTINGS: Column<Setting>[] = [
  column('Setting', ({ setting }) => <span class="font-medium">{labelOf(setting)}</span>),
  prose('Value', ({ value }) =>
    value === null ? <span class="text-dim">none</span> : <span class="break-all">{value}</span>,
  ),
  prose('Set by', (row) => (isFixed(row) ? `the variable ${row.set_by}, fixed` : row.set_by)),
];
