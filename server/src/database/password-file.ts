/// <reference path="./pgpass.d.ts" />
import pg from 'pg';
import pgpass from 'pgpass';

/** A connection whose password is asked for; pg hands it to the function. */
type ConnectionFacts = Parameters<typeof pgpass>[0];

// Each connection whose address has no password reads the password file again, so that a password
// can be replaced without a restart. pg 9 no longer reads the file by itself.
pg.defaults.password = (connection?: ConnectionFacts) =>
  new Promise<string>((resolve) => {
    if (connection) pgpass(connection, (password = '') => resolve(password));
    else resolve('');
  });
