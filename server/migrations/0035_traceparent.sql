-- oldest-program: 0013
-- The W3C trace context of the request that created the task, while tracing is on: the spans of its
-- steps belong to the same trace.
alter table tasks add column traceparent text;
