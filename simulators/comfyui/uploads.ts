import type { SimulatedResponse } from '../kit/exchange.ts';

/** The folder `temp`, kept in memory, because ComfyUI empties it at every start. */
export interface TempFolder {
  /** Whether a loader node finds `subfolder/name [temp]`. */
  has(annotatedName: string): boolean;
  /** `POST /upload/image` */
  take(body: Buffer, contentType: string): Promise<SimulatedResponse>;
  /** `GET /view?type=temp` */
  view(query: URLSearchParams): Uint8Array | undefined;
}

export function createTempFolder(): TempFolder {
  const files = new Map<string, Uint8Array>();
  return {
    has: (annotatedName) => files.has(/^(.*) \[temp\]$/.exec(annotatedName)?.[1] ?? ''),
    async take(body, contentType) {
      const sent = new Response(new Uint8Array(body), { headers: { 'content-type': contentType } });
      const form = await sent.formData();
      const file = form.get('image');
      const subfolder = String(form.get('subfolder') ?? '');
      if (!(file instanceof File) || form.get('type') !== 'temp') return { status: 400 };
      files.set(`${subfolder}/${file.name}`, new Uint8Array(await file.arrayBuffer()));
      return { status: 200, json: { name: file.name, subfolder, type: 'temp' } };
    },
    view: (query) => files.get(`${query.get('subfolder')}/${query.get('filename')}`),
  };
}
