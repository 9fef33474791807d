/** The part of the caller's log that is used here; a pino logger fits. */
export interface EmbeddedPostgresLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
