declare module 'pgpass' {
  /** Looks a password up in PGPASSFILE or ~/.pgpass; undefined if no line matches. */
  export default function pgpass(
    connection: { host: string; port: number; database: string; user: string },
    done: (password: string | undefined) => void,
  ): void;
}
