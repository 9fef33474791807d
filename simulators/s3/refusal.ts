/** A request that is refused, with the status and the code that S3 documents for it. */
export class S3Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string) {
    super(code);
    this.status = status;
    this.code = code;
  }
}

/** The XML body of an error response. */
export function errorBody({ code }: S3Refusal): string {
  const error = `<Error><Code>${code}</Code><Message>${code}</Message></Error>`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${error}`;
}
