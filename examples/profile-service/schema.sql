-- Several instances may start at once.
select pg_advisory_xact_lock(hashtext('profile-service'));

create table if not exists profiles (
  user_id uuid primary key,
  email text not null,
  display_name text not null,
  version bigint not null
);

-- A late copy of an older event must not bring a deleted user back.
create table if not exists deleted_users (user_id uuid primary key);
