-- oldest-program: 0013
-- transaction: none
-- Late responses of submits, by the job that they name.
create index concurrently evidence_sender_jobs on evidence ((finding->>'job'))
  where source = 'sender' and finding->>'job' is not null;
