import { csvLine } from '../kernel/text/csv.ts';
import { printPlain } from './print.ts';

/** How many rows of a table have the same widths, when it is printed for people. */
const TABLE_ROWS = 500;

/** A result with many rows, which are read and printed little by little, and what follows them. */
export class RowStream {
  readonly #name: string;
  readonly #columns: readonly string[];
  readonly #rows: AsyncIterable<object>;
  readonly #summary: () => object;
  readonly #isCsv: boolean;

  /**
   * @param rows each with these columns as members, in this order
   * @param summary called after the last row was read; CSV does not contain it
   */
  constructor(
    stream: {
      name: string;
      columns: readonly string[];
      rows: AsyncIterable<object>;
      /** Whether it is printed as CSV, unless it is printed as JSON. */
      isCsv: boolean;
    },
    summary: () => object,
  ) {
    this.#name = stream.name;
    this.#columns = stream.columns;
    this.#rows = stream.rows;
    this.#isCsv = stream.isCsv;
    this.#summary = summary;
  }

  /** The text to print, in pieces. */
  print(json: boolean): AsyncIterable<string> {
    if (json) return this.#json();
    return this.#isCsv ? this.#csv() : this.#plain();
  }

  async *#json(): AsyncGenerator<string> {
    yield `{${JSON.stringify(this.#name)}:[`;
    let separator = '';
    for await (const row of this.#rows) {
      yield separator + JSON.stringify(row);
      separator = ',\n';
    }
    yield `],${JSON.stringify(this.#summary()).slice(1)}\n`;
  }

  async *#csv(): AsyncGenerator<string> {
    yield csvLine(this.#columns);
    for await (const row of this.#rows) yield csvLine(Object.values(row));
  }

  async *#plain(): AsyncGenerator<string> {
    let rows: object[] = [];
    for await (const row of this.#rows) {
      rows.push(row);
      if (rows.length < TABLE_ROWS) continue;
      yield printPlain(rows);
      rows = [];
    }
    if (rows.length > 0) yield printPlain(rows);
    yield printPlain(this.#summary());
  }
}
