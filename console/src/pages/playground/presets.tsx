import { useState } from 'preact/hooks';
import { api } from '../../api.ts';
import { useLoad } from '../../load.ts';
import type { Item } from '../../site-api.ts';
import { Button } from '../../ui/button.tsx';
import { openDialog, useClose } from '../../ui/dialog.tsx';
import { Field } from '../../ui/form/field.tsx';
import { FormDialog } from '../../ui/form/form-dialog.tsx';
import { Load } from '../../ui/states.tsx';
import { column, prose, RowButtons, Table } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import type { Body } from './form-model.ts';

type Preset = Item<'GET /console/api/presets'>;

interface PresetsProps {
  /** Returns the form's request. */
  body: () => Body;
  onUse: (request: Body) => void;
}

export function PresetsButton(props: PresetsProps) {
  return (
    <Button small icon="book" onClick={() => openDialog(<Presets {...props} />)}>
      Presets
    </Button>
  );
}

function Presets({ body, onUse }: PresetsProps) {
  const close = useClose();
  const presets = useLoad('/console/api/presets');
  const [name, setName] = useState('');
  const use = (request: Body) => {
    onUse(request);
    close();
  };
  const remove = async (gone: string) => {
    await api('DELETE /console/api/presets', { query: { name: gone } }).catch(({ message }) =>
      toast(message, 'bad'),
    );
    await presets.reload();
  };
  return (
    <FormDialog
      title="Presets"
      action="Save the form"
      dismiss="Close"
      disabled={name.trim() === ''}
      onSend={() => api('PUT /console/api/presets', { body: { name, request: body() } })}
      onSent={() => toast('The preset is saved.')}
    >
      {() => (
        <>
          <Load from={presets}>
            {({ items }) => (
              <Table
                caption="Presets"
                columns={[
                  prose('Name', (one: Preset) => one.name),
                  column('', (one: Preset) => (
                    <RowButtons
                      row={one.name}
                      on={{ Use: () => use({ ...one.request }), Delete: () => remove(one.name) }}
                    />
                  )),
                ]}
                rows={items}
                keyOf={(one) => one.name}
              />
            )}
          </Load>
          <Field
            label="Save the form as"
            hint="A preset of the same name is replaced."
            maxLength={80}
            value={name}
            onChange={setName}
          />
        </>
      )}
    </FormDialog>
  );
}
