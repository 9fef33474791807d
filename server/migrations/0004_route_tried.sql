-- oldest-program: 0001

-- The connections that certainly did not accept the task, since it began with the first of its route.
alter table tasks add column route_tried text[];
