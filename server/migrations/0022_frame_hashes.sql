-- oldest-program: 0001

-- Perceptual hashes of frames of an output, to recognise copies that were encoded again.
create table frame_hashes (
  object_id text primary key references stored_objects,
  hashes bit(256)[] not null,
  -- The first 64 bits of each hash in four parts, with the number of the part.
  bands integer[] not null
);
-- Updated at once: a search would read all entries that wait, 170 ms for each frame.
create index frame_hashes_bands on frame_hashes using gin (bands) with (fastupdate = off);

-- Of a file that was taken down: it is kept as evidence until then, and not served.
alter table stored_objects add column evidence_until timestamptz;
