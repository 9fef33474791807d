import { createHash } from 'node:crypto';

/**
 * The id that an attempt's job is posted with, always the same for the same attempt: a UUID of
 * version 8 (RFC 9562) made from a SHA-256 of the attempt id. It is in the canonical lower-case
 * form, because newer servers refuse any other (400 `invalid_prompt_id`).
 * Source: ComfyUI `comfy_execution/jobs.py`, `validate_job_id`.
 */
export function promptIdOf(attemptId: string): string {
  const bytes = createHash('sha256').update(`framewright comfyui ${attemptId}`).digest();
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex', 0, 16);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
