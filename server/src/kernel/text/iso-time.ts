/** A day, or a day with a time and perhaps a zone. */
const SHAPE = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/;

/** The moment that an ISO 8601 text names, in UTC if it has no zone; undefined for other texts. */
export function readIsoTime(text: string): Date | undefined {
  const [, day, time, zone] = SHAPE.exec(text) ?? [];
  if (day === undefined || !isDay(day)) return undefined;
  const moment = new Date(time !== undefined && zone === undefined ? `${text}Z` : text);
  return Number.isNaN(moment.getTime()) ? undefined : moment;
}

/** Whether the day exists: JavaScript reads 2030-02-31 as March 3. */
function isDay(day: string): boolean {
  const midnight = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
}

/** A time as Postgres writes it into JSON. */
const OF_POSTGRES = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?[+-]\d\d:\d\d$/;

/**
 * A row that Postgres wrote as JSON, its times in RFC 3339 with milliseconds and Z, as `Date`
 * writes them. Times inside the JSON value of a column stay as they are.
 */
export function withIsoTimes<Row extends object>(row: Row): Row {
  const columns = Object.entries(row).map(([name, value]) => {
    return [name, OF_POSTGRES.test(value) ? new Date(value).toISOString() : value];
  });
  return Object.fromEntries(columns) as Row;
}
