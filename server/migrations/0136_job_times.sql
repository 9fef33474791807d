-- oldest-program: 0013
-- How long the jobs of each kind take, learned from those that succeeded. Rows are few, and a
-- process that does not know the table does not need it.
create table job_times (
  provider text not null,
  model text not null,
  resolution text not null,
  video_seconds integer not null,
  jobs bigint not null,
  mean_seconds double precision not null,
  deviation_seconds double precision not null,
  primary key (provider, model, resolution, video_seconds)
);
