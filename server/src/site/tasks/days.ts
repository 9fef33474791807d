import { invalidRequest } from '../../kernel/errors.ts';

export const DAY_MS = 86_400_000;
const SHAPE = /^\d{4}-\d\d-\d\d$/;

/**
 * The start of a UTC day that a request names, such as 2026-11-22.
 * @throws ApiError `invalid_request`
 */
export function startOfDay(field: string, text: string): Date {
  const time = SHAPE.test(text) ? new Date(`${text}T00:00:00Z`) : new Date(Number.NaN);
  // 2026-02-30 becomes a day of March.
  if (!Number.isNaN(time.getTime()) && time.toISOString().startsWith(text)) return time;
  throw invalidRequest(`${field} must be a day, such as 2026-11-22.`, {
    field,
    reason: 'malformed',
  });
}

/** The start of the day after. */
export function dayAfter(field: string, text: string): Date {
  return new Date(startOfDay(field, text).getTime() + DAY_MS);
}

/** The day so many days before a time. */
export function daysBefore(time: Date, days: number): string {
  return new Date(time.getTime() - days * DAY_MS).toISOString().slice(0, 10);
}
