create table if not exists orders (
  id bigint generated always as identity primary key,
  customer text not null,
  total integer not null
);
-- No unique constraint on order_id: that each order is charged once is the ledger's doing, and a test counts.
create table if not exists charges (
  id bigint generated always as identity primary key,
  order_id bigint not null references orders (id),
  amount integer not null
);
