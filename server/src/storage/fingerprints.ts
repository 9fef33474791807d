import { command, type Queryable, queryFirst } from '../database/database.ts';

/** Similar frames differ in at most this many of a hash's 256 bits, others in 88 or more. */
const SIMILAR_BITS = 64;

/** A band is this many bits of a hash. Similar frames have a band that differs in one bit at most. */
const BAND_BITS = 16;
const HEX_DIGITS = BAND_BITS / 4;
const BANDS = [0, 1, 2, 3];

/** The first bands of a hash, each with its number, for the index. */
function bandsOf(hash: string): number[] {
  return BANDS.map((band) => {
    const bits = hash.slice(band * HEX_DIGITS, (band + 1) * HEX_DIGITS);
    return band * 2 ** BAND_BITS + Number.parseInt(bits, 16);
  });
}

/** The values of {@link INSERT_HASHES}, for outputs with hashes of frames in hex. */
export function hashValues(outputs: { id: string; frameHashes?: string[] }[]) {
  const hashed = outputs.flatMap(({ id, frameHashes = [] }) =>
    frameHashes.length > 0 ? [{ id, hashes: frameHashes }] : [],
  );
  return {
    hashedIds: hashed.map(({ id }) => id),
    hashes: hashed.map(({ hashes }) => hashes.join(' ')),
    bands: hashed.map(({ hashes }) => [...new Set(hashes.flatMap(bandsOf))].join(' ')),
  };
}

/** SQL: the bits of a hash in hex. */
const bitsOf = (hash: string) => `('x' || ${hash})::bit(256)`;

/** SQL that inserts the hashes of the objects that the same statement inserts. */
export const INSERT_HASHES = `insert into frame_hashes (object_id, hashes, bands)
     select id, array(select ${bitsOf('h')} from unnest(string_to_array(hashes, ' ')) h),
       string_to_array(bands, ' ')::int[]
     from unnest(:hashedIds::text[], :hashes::text[], :bands::text[]) as hashed (id, hashes, bands)`;

// Compares only hashes that share a band: comparing each with each takes a hundred times as long.
const findByHashes = queryFirst<
  [hashes: string[], bands: string[]],
  { task_id: string; object_id: string; created_at: Date }
>(
  'object_similar',
  `with asked as materialized (
     select ${bitsOf('hash')} as hash, string_to_array(bands, ' ')::int[] as bands
     from unnest($1::text[], $2::text[]) as given (hash, bands)),
   near as (
     select f.object_id, count(distinct kept.hash) as frames
     from asked join frame_hashes f on f.bands && asked.bands
       cross join lateral unnest(f.hashes) as kept (hash)
     where bit_count(kept.hash # asked.hash) <= ${SIMILAR_BITS}
     group by f.object_id having count(distinct kept.hash) * 2 >= cardinality(f.hashes)
     order by frames desc limit 10)
   select o.owner_id as task_id, o.id as object_id, o.created_at
   from near join stored_objects o on o.id = near.object_id
   where o.state <> 'writing'
   order by near.frames desc, o.created_at limit 1`,
);

/**
 * The output most similar to a video: at least half of its hashed frames look like one of these.
 * @param hashes of frames of the video, in hex
 */
export function findSimilar(db: Queryable, hashes: string[]) {
  const bands = hashes.map((hash) => bandsOf(hash).flatMap(nearBands).join(' '));
  return findByHashes(db, hashes, bands);
}

function nearBands(band: number): number[] {
  return [band, ...Array.from({ length: BAND_BITS }, (_, bit) => band ^ (1 << bit))];
}

const MAX_FORGOTTEN = 1000;

/** Forgets digests and hashes of outputs that were deleted this many days ago, some at a time. */
export const forgetFingerprints = command<[days: number]>(
  'object_forget_fingerprints',
  `with due as materialized (
     select id from stored_objects
     where role = 'output' and state = 'deleted' and sha256 is not null
       and deleted_at <= (select clock_now()) - $1 * interval '1 day'
     order by deleted_at limit ${MAX_FORGOTTEN} for update skip locked),
   unhashed as (delete from frame_hashes where object_id = any(array(select id from due)))
   update stored_objects set sha256 = null, source_sha256 = null
   where id = any(array(select id from due))`,
);
