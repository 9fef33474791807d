-- oldest-program: 0013
-- transaction: none
-- Indexes that earlier texts of 0008 did not have. Elsewhere they are there, and nothing is built.
create index concurrently evidence_jobs on evidence ((finding->>'job')) where source = 'callback';
create index concurrently evidence_decisions on evidence (attempt_id) where source = 'operator';
create index concurrently orphan_jobs_unreported on orphan_jobs (found_at)
  where state = 'confirmed' and reported_at is null;
