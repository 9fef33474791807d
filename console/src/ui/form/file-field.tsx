import { useState } from 'preact/hooks';
import { FieldFrame, type FieldProps, INPUT } from './field.tsx';

interface FileProps extends FieldProps {
  maxBytes: number | undefined;
  /** Called with the file in base64; empty without one. */
  onChange: (base64: string) => void;
}

export function FileField({ label, hint, error, maxBytes = Infinity, onChange }: FileProps) {
  const [isTooLarge, setTooLarge] = useState(false);
  const choose = async (file: File | undefined) => {
    const isOver = file !== undefined && file.size > maxBytes;
    setTooLarge(isOver);
    onChange(file && !isOver ? await base64Of(file) : '');
  };
  const problem = isTooLarge ? `The file has more than ${maxBytes / 1024} KB.` : error;
  return (
    <FieldFrame label={label} hint={hint} error={problem}>
      {(control) => (
        <input
          {...control}
          type="file"
          onChange={(event) => void choose(event.currentTarget.files?.[0])}
          class={`${INPUT} py-2`}
        />
      )}
    </FieldFrame>
  );
}

async function base64Of(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
}
