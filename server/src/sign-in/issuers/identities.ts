import { type Queryable, query, statement } from '../../database/database.ts';

/** An outside identity that signs in to an account, as operators see it. */
export interface IdentityListing {
  /** `github`, or the address of an OpenID Connect issuer. */
  issuer: string;
  /** The issuer's id of the person. */
  subject: string;
  created_at: Date;
}

/** The outside identities of an account, the newest first. */
export const listIdentities = query<[accountId: string], IdentityListing>(
  'identity_list',
  `select issuer, subject, created_at from identities where account_id = $1
   order by created_at desc, issuer, subject`,
);

const DELETE_ALL = statement(
  'identity_delete_all',
  'delete from identities where account_id = $1 returning issuer',
);

/**
 * Removes all outside identities of an account. Returns how many there were. One whose issuer says
 * that it has the account's verified e-mail address joins the account again when it signs in.
 */
export async function removeIdentities(db: Queryable, accountId: string): Promise<number> {
  return (await db.query(DELETE_ALL, [accountId])).length;
}
