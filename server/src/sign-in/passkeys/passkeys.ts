import { isIP } from 'node:net';
import { type Queryable, query, statement } from '../../database/database.ts';

/** How many passkeys an account may have. */
export const MAX_PASSKEYS = 20;

/** The host that passkeys are made for; undefined: browsers make none for an IP address. */
export function passkeyHost(publicUrl: string): string | undefined {
  const { hostname } = new URL(publicUrl);
  return isIP(hostname.replaceAll(/[[\]]/g, '')) === 0 ? hostname : undefined;
}

/** A passkey as its owner sees it. */
export interface PasskeyListing {
  id: string;
  name: string;
  created_at: Date;
  used_at: Date | null;
}

/** The passkeys of an account, the newest first. */
export const listPasskeys = query<[accountId: string], PasskeyListing>(
  'passkey_list',
  `select id, name, created_at, used_at from passkeys where account_id = $1
   order by created_at desc, id`,
);

const RENAME = statement(
  'passkey_rename',
  'update passkeys set name = $3 where id = $1 and account_id = $2 returning id',
);

/** @returns false if the account has no such passkey */
export async function renamePasskey(
  db: Queryable,
  { accountId, id, name }: { accountId: string; id: string; name: string },
): Promise<boolean> {
  return (await db.query(RENAME, [id, accountId, name])).length > 0;
}

const DELETE = statement(
  'passkey_delete',
  'delete from passkeys where id = $1 and account_id = $2 returning id',
);

/** @returns false if the account has no such passkey */
export async function removePasskey(
  db: Queryable,
  { accountId, id }: { accountId: string; id: string },
): Promise<boolean> {
  return (await db.query(DELETE, [id, accountId])).length > 0;
}

const DELETE_ALL = statement(
  'passkey_delete_all',
  'delete from passkeys where account_id = $1 returning id',
);

/** Removes all passkeys of an account. Returns how many there were. */
export async function removePasskeys(db: Queryable, accountId: string): Promise<number> {
  return (await db.query(DELETE_ALL, [accountId])).length;
}
