/** Text that a spreadsheet takes for a formula: it begins with = + - @ (or their full-width forms), a
 * tab or a line break, and is not a negative number. */
const FORMULA = /^(?!-\d+(?:\.\d+)?$)[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/**
 * One line of CSV (RFC 4180). An empty field is a missing value. A text that a spreadsheet would
 * run as a formula gets an apostrophe in front.
 */
export function csvLine(values: readonly unknown[]): string {
  return `${values.map(field).join(',')}\r\n`;
}

/** The line of names, and a line per row. */
export function csvTable<Row extends object>(
  columns: readonly (keyof Row & string)[],
  rows: readonly Row[],
): string {
  const lines = rows.map((row) => csvLine(columns.map((column) => row[column])));
  return [csvLine(columns), ...lines].join('');
}

function field(value: unknown): string {
  const isFormula = typeof value === 'string' && FORMULA.test(value);
  const plain = value instanceof Date ? value.toISOString() : String(value ?? '');
  const text = isFormula ? `'${plain}` : plain;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
