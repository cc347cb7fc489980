/** How channels stood, over time. Every question names channels, so that the primary key answers all of them. */
export const SNAPSHOTS = `
create table lazaret.snapshots (
  channel text collate "C" not null,
  at timestamptz not null,
  body json not null,
  primary key (channel, at)
);
`
