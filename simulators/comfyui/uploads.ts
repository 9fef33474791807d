/** The folder `temp`, kept in memory, because ComfyUI empties it at every start. */
export type TempFolder = ReturnType<typeof createTempFolder>;

export function createTempFolder() {
  const files = new Map<string, Uint8Array>();
  return {
    /** Whether a loader node finds `subfolder/name [temp]`. */
    has: (annotatedName: string) => files.has(/^(.*) \[temp\]$/.exec(annotatedName)?.[1] ?? ''),
    /** `POST /upload/image` */
    async take(body: Buffer, contentType: string) {
      const sent = new Response(new Uint8Array(body), { headers: { 'content-type': contentType } });
      const form = await sent.formData();
      const file = form.get('image');
      const subfolder = String(form.get('subfolder') ?? '');
      if (!(file instanceof File) || form.get('type') !== 'temp') return { status: 400 };
      files.set(`${subfolder}/${file.name}`, new Uint8Array(await file.arrayBuffer()));
      return { status: 200, json: { name: file.name, subfolder, type: 'temp' } };
    },
    /** `GET /view?type=temp` */
    view: (query: URLSearchParams) =>
      files.get(`${query.get('subfolder')}/${query.get('filename')}`),
  };
}
