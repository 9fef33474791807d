-- oldest-program: 0001

-- The file of what an account has, which its owner asked for. One at a time.
create table account_exports (
  account_id text primary key references accounts,
  asked_at timestamptz not null default clock_now(),
  -- When a worker makes it, again after a failure; null: it is made.
  due_at timestamptz default clock_now(),
  tries smallint not null default 0,
  -- The archive, which is kept for a day.
  object_id text
);
create index account_exports_due on account_exports (due_at) where due_at is not null;

-- export: of account_exports, its owner is the account.
alter table stored_objects
  drop constraint stored_objects_role_check,
  add constraint stored_objects_role_check check (role in
    ('input', 'output', 'render', 'upload', 'poster', 'export')) not valid;
