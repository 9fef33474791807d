import { useState } from 'preact/hooks';
import { Card } from '../../ui/card.tsx';
import { Range, Segments, Select, Switch, TextArea } from '../../ui/form/controls.tsx';
import { Field } from '../../ui/form/field.tsx';

const RATIOS = ['16:9', '9:16', '1:1'].map((value) => ({ value, label: value }));
const MODELS = ['video-2.0', 'video-2.0-fast'].map((value) => ({ value, label: value }));

/** The controls of forms. */
export function Controls() {
  const [prompt, setPrompt] = useState('A paper boat sails down a rainy street, at dusk');
  const [model, setModel] = useState('video-2.0-fast');
  const [ratio, setRatio] = useState('16:9');
  const [seconds, setSeconds] = useState(5);
  const [hasSound, setSound] = useState(true);
  const [name, setName] = useState('');
  return (
    <Card title="Controls">
      <div class="grid gap-6 sm:grid-cols-2">
        <TextArea
          label="Prompt"
          hint="What the video shows."
          maxLength={4000}
          value={prompt}
          onChange={setPrompt}
        />
        <div class="grid content-start gap-6">
          <Select label="Model" value={model} choices={MODELS} onChange={setModel} />
          <Segments label="Aspect ratio" value={ratio} choices={RATIOS} onChange={setRatio} />
        </div>
        <Range label="Duration" value={seconds} min={4} max={15} unit=" s" onChange={setSeconds} />
        <Switch label="Sound" hint="Costs nothing more." checked={hasSound} onChange={setSound} />
        <Field
          label="Name"
          placeholder="Production server"
          value={name}
          error={name === '' ? 'Give the key a name.' : undefined}
          onChange={setName}
        />
      </div>
    </Card>
  );
}
