/** A result with many rows, which are read and printed little by little, and what follows them. */
export class RowStream {
  readonly name: string;
  /** The members of each row, in this order. */
  readonly columns: readonly string[];
  readonly rows: AsyncIterable<object>;
  /** Whether it is printed as CSV, unless it is printed as JSON. */
  readonly isCsv: boolean;
  /** Called after the last row was read; CSV does not contain it. */
  readonly summary: () => object;

  constructor({ name, columns, rows, isCsv, summary }: Pick<RowStream, keyof RowStream>) {
    this.name = name;
    this.columns = columns;
    this.rows = rows;
    this.isCsv = isCsv;
    this.summary = summary;
  }
}
