-- oldest-program: 0001

-- Why its route chose the connection that was tried first; null: that follows from the route alone.
alter table tasks add column route_choice text;
