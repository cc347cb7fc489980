type Described = readonly [table: string, columns: Readonly<Record<string, string>>]
type Tables = Readonly<Record<string, Described>>

const OUTBOX: Described = [
  'Events and how far each of them is, one row for each handler. Dead letters: status = failed and deleted_at is null.',
  {
    seq: 'The order of enqueueing; grows, with gaps.',
    event_id: 'The same for every handler, attempt and replay of the event.',
    foreign_id: 'The id the event came with, where that is no UUID; event_id is made of it then.',
    idempotency_key: 'The same for whatever is to be done once; null means the event id.',
    channel: 'The stream of events it belongs to.',
    type: 'What happened, such as order.placed.',
    key: 'Events of one key are kept in order where a handler asks for it.',
    source: 'Who emitted it: a URI reference.',
    target: 'The handler this row is for; null until the channel has one.',
    payload: 'What happened in detail, as it was written; null where it is bytes or sealed.',
    payload_bytes: 'A payload of bytes.',
    sealed: 'The whole event as a codec wrote it, where events are sealed at rest.',
    headers: 'Names and texts that travel with the event; a replay adds its own.',
    status: 'pending, in_flight, delivered or failed.',
    generation: 'Consumers of a lower generation leave it alone.',
    attempts: 'Attempts begun in the current cycle.',
    attempts_ended: 'Of those, the ones whose end is recorded; the difference is the number of crashes.',
    attempt_log: 'The first and the latest attempts of the current cycle.',
    next_attempt_at: 'Not handed over before.',
    last_error: 'What the latest attempt of the current cycle failed with.',
    first_failed_at: 'When the current cycle first failed.',
    failed_at: 'When it was given up on.',
    failure_history:
      'The cycles that a replay has ended: attempts, last_error, times, generation, replayed_by.',
    replays: 'How often it was sent again.',
    replay: 'Which replay sent it last; the same one is not taken twice.',
    letter_id: 'The dead letter that was written of it.',
    letter_kept: 'Whether that letter is kept here and nowhere else.',
    lane: 'Its key, as long as later rows of the key have to wait for it.',
    owner: 'Who has it in flight, or had it last; null while it is pending.',
    occurred_at: 'When it happened.',
    expires_at: 'Not worth handling after; null means never.',
    created_at: 'When it was enqueued.',
    delivered_at: 'When its handler was done.',
    deleted_at: 'When a person decided that it need not be handled.',
    discarded_at: 'The deleted_at that lane and letter have been told of; a trigger keeps it in step.',
  },
]

const OUTBOX_DELIVERED: Described = [
  'Delivered rows that were partitioned away, one partition for each day.',
  OUTBOX[1],
]
const OUTBOX_DELIVERED_REST: Described = ['Delivered rows of days without a partition.', OUTBOX[1]]

const OUTBOX_HANDLERS: Described = [
  'Who gets the events of a channel.',
  {
    channel: 'The channel.',
    handler: 'The name of the handler.',
    by_key: 'Whether it gets the events of a key one at a time and in order.',
    registered_at: 'When it first subscribed; it gets what is enqueued from then on.',
  },
]

const OUTBOX_OWNERS: Described = [
  'Processes that have events in flight. One that stops renewing its lease is taken for dead.',
  {
    id: 'What the rows it has in flight name as their owner.',
    lease_until: 'Renewed all the time; afterwards its rows are given to others.',
    running: 'The seq of the rows whose attempts have begun and not ended.',
    registered_at: 'When it came.',
  },
]

const OUTBOX_CLAIMS: Described = [
  'What processes have claimed: by this their rows are found when they die. Gone when all of it is settled.',
  {
    owner: 'The process.',
    number: 'Which of its claims.',
    seqs: 'The seq of the rows it took, settled or not.',
  },
]

const EVENT_HANDLED: Described = [
  'The ledger: which events a handler has handled or is handling.',
  {
    handler: 'The name of the handler.',
    idempotency_key: 'The idempotency key of the event.',
    token: 'Whoever knows it holds the lease; null when it is handled.',
    lease_until: 'Others may take it over after; null when it is handled.',
    handled_at: 'When it was handled; null while it is being handled.',
  },
]

const DEAD_LETTERS: Described = [
  'Events that were given up on, of the outbox and of other brokers.',
  {
    id: 'Made of channel, handler and event id.',
    channel: 'The channel of the event.',
    handler: 'The handler or sink that gave up.',
    event_id: 'The id of the event.',
    type: 'The type of the event.',
    key: 'The key of the event.',
    reason: 'Why it was given up on.',
    category: 'transient, schema, business, integration or unknown.',
    state: 'dead, quarantined, replaying, parked, resolved or discarded.',
    group_id: 'The fingerprint of its failure: letters of one cause have the same.',
    error: 'What the last attempt failed with.',
    attempts: 'Attempts of the current cycle.',
    replays: 'How often it was sent again.',
    replay_id: 'The replay that sent it last.',
    first_failed_at: 'When its first cycle first failed.',
    last_failed_at: 'When it last failed.',
    created_at: 'When the letter was written.',
    updated_at: 'When it was last changed.',
    expires_at: 'When it may be deleted; null means never.',
    revision: 'Goes up with every change.',
    search: 'What a search looks through, in lower case.',
    body: 'The whole letter, as the codec wrote it.',
  },
]

const GROUPS: Described = [
  'What people say about letters of one cause.',
  {
    id: 'The fingerprint.',
    title: 'The failure in one line.',
    rule: 'Which rule made the fingerprint.',
    basis: 'The text it was made of.',
    category: 'The category of its failures.',
    search: 'What a search looks through, in lower case.',
    triage: 'State, owner, link; null when nobody has looked.',
    notes: 'What people wrote, oldest first.',
  },
]

const REPLAYS: Described = [
  'Selections of dead letters that are sent again.',
  {
    id: 'Its id.',
    state: 'planned, approved, running, paused, halted, finished or cancelled.',
    created_at: 'When it was planned.',
    revision: 'Goes up with every change.',
    runner: 'Who runs it.',
    lease_until: 'Others may run it after.',
    body: 'The whole of it.',
  },
]

const REPLAY_ITEMS: Described = [
  'The letters of a replay, and what came of each.',
  {
    replay_id: 'The replay.',
    position: 'Its place in the order of sending.',
    status: 'waiting, sent, or an outcome.',
    body: 'The whole of it.',
  },
]

const AUDIT: Described = [
  'Who did what to what, and when.',
  {
    seq: 'The order of writing.',
    at: 'When.',
    by: 'Who.',
    action: 'What, such as letter.discard.',
    target: 'To what.',
    detail: 'More about it; never a payload.',
  },
]

const SNAPSHOTS: Described = [
  'How the dead letters of channels stood, over time.',
  {
    channel: 'The channel; with a backslash in it, or what text cannot hold, written as JSON does.',
    at: 'When it stood so.',
    body: 'The whole of it: depth, age, errors.',
  },
]

const INSTANCES: Described = [
  'The processes that work on this database, one row each. One that is silent for longer than its lease is gone.',
  {
    id: 'Another start of the same program has another.',
    seen_at: 'When it last reported, or left.',
    lease_ms: 'It is alive for this long after its report.',
    has_left: 'Whether it ended in order.',
    body: 'Its last report: service, host, consumers and sinks.',
  },
]

const COMMANDS: Described = [
  'What people asked of processes, and the outcomes.',
  {
    seq: 'The order of sending; grows, with gaps.',
    id: 'Its id.',
    request: 'Commands of one request have the same.',
    sent_at: 'When it was sent.',
    ttl_ms: 'The time for a claim and an outcome, after which an unclaimed command is expired.',
    claimed_by: 'The instance that executes it; null when none has claimed it.',
    claimed_at: 'When that instance claimed it.',
    ended_at: 'When the outcome came.',
    body: 'The whole command: task, recipients, who asked and why.',
    outcome: 'What the instance answered; null when it has not.',
  },
]

const COMMAND_RECIPIENTS: Described = [
  'The commands that wait, for each instance that may claim them. Gone when one of them has.',
  {
    instance: 'The id of the instance.',
    seq: 'The seq of the command.',
  },
]

const LETTER_FACETS: Described = [
  'Every combination of the values that filters compare and lists are sorted by. A list of letters is a merge of some of them.',
  {
    id: 'The hash of the values: lazaret.letter_facet() of a letter.',
    channel: 'The channel of its letters.',
    handler: 'The handler or sink that gave up on them.',
    type: 'The type of their events.',
    reason: 'The reason why they are letters.',
    category: 'The category of their failures.',
    state: 'Their state.',
    group_id: 'Their group.',
    attempts: 'How many attempts their current cycle had.',
  },
]

const LETTER_COUNTS: Described = [
  'Changes of the number of letters of facets, in no order. The sum of the rows of a facet is its count.',
  {
    facet: 'The facet.',
    letters: 'How many letters were added; below zero: deleted.',
    replayed: 'How many of these were replayed at least once.',
  },
]

const MIGRATIONS: Described = [
  'The steps that made this schema what it is.',
  {
    version: 'Its number.',
    name: 'What it did.',
    works_with: 'Programs that know this version or a higher one can work with the schema after it.',
    applied_at: 'When it was done.',
  },
]

/** The tables of the first step. */
const FIRST: Tables = {
  outbox: OUTBOX,
  outbox_delivered: OUTBOX_DELIVERED,
  outbox_delivered_rest: OUTBOX_DELIVERED_REST,
  outbox_handlers: OUTBOX_HANDLERS,
  outbox_owners: OUTBOX_OWNERS,
  outbox_claims: OUTBOX_CLAIMS,
  event_handled: EVENT_HANDLED,
  dead_letters: DEAD_LETTERS,
  groups: GROUPS,
  replays: REPLAYS,
  replay_items: REPLAY_ITEMS,
  audit: AUDIT,
  migrations: MIGRATIONS,
}

/** Comments for people with psql: `\\d+ lazaret.outbox` shows them. */
export const COMMENTS: string = commentsOn(FIRST)
export const SNAPSHOT_COMMENTS: string = commentsOn({ snapshots: SNAPSHOTS })
export const LETTER_FACET_COMMENTS: string = commentsOn({ letter_facets: LETTER_FACETS })
export const LETTER_COUNT_COMMENTS: string = commentsOn({ letter_counts: LETTER_COUNTS })
export const FLEET_COMMENTS: string = commentsOn({
  instances: INSTANCES,
  commands: COMMANDS,
  command_recipients: COMMAND_RECIPIENTS,
})

function commentsOn(tables: Tables): string {
  return Object.entries(tables)
    .flatMap(([table, [about, columns]]) => [
      `comment on table lazaret.${table} is '${about}';`,
      ...Object.entries(columns).map(
        ([column, text]) => `comment on column lazaret.${table}.${column} is '${text}';`,
      ),
    ])
    .join('\n')
}
