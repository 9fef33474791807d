-- oldest-program: 0001

-- What the price is for: a second of the output, or of the time that the job computed.
alter table terms add column per text not null default 'output-second'
  check (per in ('output-second', 'compute-second'));
