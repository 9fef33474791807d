import { type Database, statement } from '../database/database.ts';
import { deletingObjectRows, longDeletedUploads } from '../storage/object-sql.ts';

/** How long the rows of a deleted upload are kept: a store may write a file late. */
const FORGET_DAYS = 30;
const BATCH = 1000;

const FORGET = statement(
  'upload_forget',
  `with gone as materialized (${longDeletedUploads(FORGET_DAYS)} limit ${BATCH}
       for update skip locked),
   facts as (delete from uploads where object_id = any(array(select id from gone)))
   ${deletingObjectRows('select id from gone')} returning id`,
);

/** Removes the rows of uploads that were deleted long ago: at most 1000 in one call. */
export async function forgetUploads(db: Database): Promise<number> {
  return (await db.query(FORGET)).length;
}
