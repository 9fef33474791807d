import { Decoder, Demuxer } from 'node-av/api';

/**
 * Decodes all frames of a file's picture in this process, without any limit or check of the service.
 * @throws when the file has no frame, or one that can't be decoded
 */
export async function decodeByHand(file: string): Promise<void> {
  await using input = await Demuxer.open(file);
  const stream = input.video();
  if (!stream) throw new Error(`${file} has no picture`);
  using decoder = await Decoder.create(stream, { exitOnError: true });
  let frames = 0;
  for await (using frame of decoder.frames(input.packets(stream.index))) if (frame) frames += 1;
  if (frames === 0) throw new Error(`${file} has no frame`);
}
