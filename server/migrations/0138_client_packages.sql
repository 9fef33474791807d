-- oldest-program: 0013
-- The files of /packages/, each as it was served first. Lockfiles of customers have their digests,
-- so they are kept when the service has a newer version. A process without the table serves none.
create table client_packages (
  name text primary key,
  sha256 text not null,
  bytes bytea not null,
  kept_at timestamptz not null default clock_now()
);
