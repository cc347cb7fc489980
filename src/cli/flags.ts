import { TRIAGE_STATES } from '../core/dead-letter/group.ts'
import { REASONS, type Reason } from '../core/dead-letter/reason.ts'
import { LETTER_STATES } from '../core/dead-letter/state.ts'
import { CATEGORIES } from '../core/failure/classification.ts'
import { AGENT_RIGHTS, type AgentRight } from '../core/options/agents.ts'
import { givenFields } from '../core/options/merge.ts'
import { LETTER_SORTS, type LetterFilter, SORT_DIRECTIONS } from '../ports/dead-letters.ts'
import { INSTANCE_STATES } from '../ports/fleet.ts'
import { REPLAY_STATES, type Stage } from '../ports/replays.ts'
import {
  amount,
  basePath,
  choice,
  conditions,
  count,
  countOrAll,
  duration,
  type Flag,
  FlagValueError,
  port,
  switchFlag,
  time,
  type Values,
  word,
} from './flag.ts'

export const HELP = switchFlag('show this help')
export const VERSION = switchFlag('show the version')
const JSON_OUTPUT = switchFlag('print JSON on stdout; messages go to stderr')
const YES = switchFlag('do not ask for confirmation')
const BY = word('NAME', 'your name for the audit log [$USER]')

/** Every command that works on a store takes these. */
export const storeFlags = {
  store: word('URL', 'memory: · file:DIR · sqlite:FILE · postgres://… · redis://… [sqlite:./lazaret.db]'),
  config: word('FILE', 'config file [./lazaret.yaml, if it exists]'),
  json: JSON_OUTPUT,
  help: HELP,
}

export const configCheckFlags = { config: storeFlags.config, json: JSON_OUTPUT, help: HELP }
export const configSchemaFlags = { json: JSON_OUTPUT, help: HELP }
export const serveFlags = {
  port: port('port to listen on [4600]'),
  host: word('NAME', 'address to listen on; a non-loopback address needs tokens in the config [127.0.0.1]'),
  'base-path': basePath('path below which the server answers, such as /lazaret behind a proxy [/]'),
  ...storeFlags,
}
const RIGHTS: Flag<readonly AgentRight[]> = {
  about: 'what the agent may do beside reading: replay, triage, discard [nothing]',
  placeholder: 'LIST',
  read(text) {
    const given = text.split(',').map(part => part.trim())
    const unknown = given.find(part => !(AGENT_RIGHTS as readonly string[]).includes(part))
    if (unknown !== undefined)
      throw new FlagValueError(`give ${AGENT_RIGHTS.join(', ')}, separated by commas`)
    return given as AgentRight[]
  },
}
export const mcpFlags = {
  allow: RIGHTS,
  by: BY,
  ...storeFlags,
}
export const completionFlags = {
  config: word('FILE', 'taken for an alias that has it; a completion script needs no config'),
  help: HELP,
}
export const demoFlags = {
  port: port('port of the console [4600, or the next free one]'),
  host: word('NAME', 'address to listen on [127.0.0.1]'),
  seed: count('seed of the demo: the same seed gives the same events [1]'),
  store: word('URL', 'a new sqlite:FILE to keep, or memory: [a temporary file]'),
  config: word('FILE', 'config file whose server.port and server.host apply [none]'),
  json: JSON_OUTPUT,
  help: HELP,
}

/** Only Postgres has an outbox. */
export const outboxFlags = {
  ...storeFlags,
  store: word('URL', 'postgres://HOST/DATABASE [$LAZARET_STORE, or the config]'),
}
export const migrateFlags = {
  print: switchFlag('print the SQL without running it, for your own migration tool'),
  ...outboxFlags,
}

export const rabbitmqFlags = {
  'dead-letter-queue': word(
    'NAME',
    "name of the dead-letter queue, with {queue} for the queue's [{queue}.dlq]",
  ),
  url: word(
    'URL',
    'RabbitMQ URL; put a password into $LAZARET_AMQP_URL instead [the one in the config, or amqp://localhost]',
  ),
  config: storeFlags.config,
  json: JSON_OUTPUT,
  help: HELP,
}

export const declareFlags = {
  channel: word('NAME', 'channel whose events the queue receives [the queue name]'),
  'queue-type': choice('TYPE', ['quorum', 'classic'], 'type of the declared queues [quorum]'),
  'dead-letter-queues': choice(
    'HOW',
    ['one', 'by-category'],
    'one dead-letter queue, or one for each category of failures [one]',
  ),
  'dead-letter-ttl': duration('how long RabbitMQ keeps dead letters [no expiry]'),
  ordered: switchFlag('also declare the queues for ordering by key'),
  'max-length': count('maximum messages in a queue, then it refuses more; quorum queues only [no limit]'),
  'dead-letter-max-length': count('maximum letters in a dead-letter queue, then it refuses more [no limit]'),
  ...rabbitmqFlags,
}

export const kafkaFlags = {
  url: word(
    'URL',
    'Kafka URL such as kafka://host:9092,other:9092; put a password into $LAZARET_KAFKA_URL instead [the one in the config, or kafka://localhost:9092]',
  ),
  group: word('NAME', 'consumer group, with {channel} and {handler} [{channel}.{handler}]'),
  topic: word('NAME', 'topic of a channel, with {channel} [{channel}]'),
  'retry-topic': word('NAME', 'retry topics, with {group} and {delay} [{group}.retry.{delay}]'),
  'dead-letter-topic': word('NAME', 'dead-letter topic, with {group} [{group}.dlq]'),
  'held-topic': word('NAME', 'topic of events that wait for their key, with {group} [{group}.held]'),
  config: storeFlags.config,
  json: JSON_OUTPUT,
  help: HELP,
}

export const kafkaDeclareFlags = {
  handler: word('NAME', 'name of the handler [the channel name]'),
  partitions: count('partitions of a channel topic that does not exist yet [default of the brokers]'),
  'replication-factor': count('replicas of the created topics [default of the brokers]'),
  from: choice(
    'WHERE',
    ['latest', 'earliest'],
    'where a new handler begins: after the events that are there, or with them [latest]',
  ),
  ordered: switchFlag('also create the topic for ordering by key'),
  'session-timeout': duration(
    'how long a silent consumer keeps its partitions, such as 15s [default of the brokers, 45s]',
  ),
  ...kafkaFlags,
}

export const natsFlags = {
  url: word(
    'URL',
    'NATS URL such as nats://host:4222,other:4222; put a password into $LAZARET_NATS_URL instead [the one in the config, or nats://localhost:4222]',
  ),
  config: storeFlags.config,
  json: JSON_OUTPUT,
  help: HELP,
}

export const natsDeclareFlags = {
  handler: word('NAME', 'name of the handler [the channel name]'),
  replicas: count('replicas of the created streams; 3 in a cluster [1]'),
  retention: choice(
    'HOW',
    ['interest', 'limits'],
    'how long the stream of a channel keeps events: until every handler has settled them, or until its limits remove them [interest]',
  ),
  from: choice(
    'WHERE',
    ['new', 'all'],
    'where a new handler begins: after the events that are there, or with them [new]',
  ),
  ...natsFlags,
}

export const fleetListFlags = {
  service: word('NAME', 'only processes of this service'),
  state: choice('STATE', INSTANCE_STATES, 'only processes in this state'),
  limit: countOrAll('maximum number to show [100]'),
  cursor: word('CURSOR', 'continue from the cursor of the last listing'),
  ...storeFlags,
}
const commandFlags = {
  instance: word('ID', 'only this process [every process that has the channel or sink]'),
  service: word('NAME', 'only the processes of this service'),
  reason: word('TEXT', 'reason for the audit log'),
  wait: duration('how long to wait for the outcomes [10s]'),
  by: BY,
  ...storeFlags,
}
export const fleetFlags = {
  channel: word('NAME', 'channel whose consumers do it'),
  handler: word('NAME', 'only this handler of the channel'),
  any: switchFlag('one process is enough: the first that takes the command'),
  ...commandFlags,
}
export const partFlags = {
  sink: word('NAME', 'sink that does it, instead of --channel'),
  ...fleetFlags,
}
export const resendFlags = {
  ...commandFlags,
  sink: word('NAME', 'sink whose letters are sent (required)'),
  wait: duration('how long to wait for the outcomes [30s]'),
}
export const breakerFlags = {
  to: choice(
    'STATE',
    ['open', 'closed', 'auto'],
    'force the breaker open or closed; auto ends that (required)',
  ),
  sink: word('NAME', 'sink whose breaker is forced, instead of --channel'),
  ...fleetFlags,
}

export const groupListFlags = {
  state: choice('STATE', TRIAGE_STATES, 'only groups in this state'),
  channel: word('NAME', 'only groups with letters of this channel'),
  search: word('TEXT', 'only groups with this text in the title'),
  limit: countOrAll('maximum number to show [100]'),
  cursor: word('CURSOR', 'continue from the cursor of the last listing'),
  ...storeFlags,
}
export const triageFlags = {
  owner: word('NAME', 'person who works on the group'),
  link: word('URL', 'URL with more information, such as a ticket'),
  note: word('TEXT', 'note to add to the group'),
  by: BY,
  ...storeFlags,
}
export const muteFlags = { until: time('when the mute ends (required)', 'future'), ...triageFlags }

const REASON = choice('REASON', Object.keys(REASONS) as Reason[], 'only letters with this reason', 'taken')

/** The filters of letters that all commands share. The reason is not among them: `replay plan` uses --reason itself. */
const whichLetters = {
  channel: word('NAME', 'only letters of this channel'),
  handler: word('NAME', 'only letters of this handler or sink'),
  type: word('TYPE', 'only letters whose event has this type'),
  category: choice('CATEGORY', CATEGORIES, 'only letters whose failure has this category'),
  state: choice('STATE', LETTER_STATES, 'only letters in this state'),
  group: word('ID', 'only letters of this group'),
  after: time('only letters that last failed at or after this time', 'past'),
  before: time('only letters that last failed before this time', 'past'),
  search: word(
    'TEXT',
    "only letters with this text in the error, in the event's id, key or type, or in metadata",
  ),
  release: word('NAME', 'only letters of this release'),
  error: word('TEXT', 'only letters with this text in the name, message or code of the error'),
  'min-attempts': count('only letters with at least this many attempts', 'N', 0),
  'max-attempts': count('only letters with at most this many attempts', 'N', 0),
  where: conditions(
    "only letters whose fields match, such as 'payload.customer.id = 7 and header.tenant = acme'",
  ),
}

const filterFlags = { ...whichLetters, reason: REASON }

export const listFlags = {
  ...filterFlags,
  sort: choice('COLUMN', LETTER_SORTS, 'column to sort by [lastFailed]'),
  order: choice('ORDER', SORT_DIRECTIONS, 'direction [desc for times and attempts, asc for texts]'),
  'start-at': time('start the list at this time, when it is sorted by lastFailed or firstFailed', 'past'),
  limit: countOrAll('maximum number to show [100]'),
  cursor: word('CURSOR', 'continue from the cursor of the last listing'),
  reveal: switchFlag('show masked values; the audit log records it'),
  by: BY,
  ...storeFlags,
}
export const showFlags = { reveal: listFlags.reveal, by: BY, ...storeFlags }
export const statsFlags = {
  ...filterFlags,
  exact: switchFlag('count all letters, however long it takes'),
  ...storeFlags,
}
export const decideFlags = { note: word('TEXT', 'reason, for the audit log'), by: BY, ...storeFlags }
/** The flags of actions on every letter that matches. */
export const bulkFlags = {
  ...filterFlags,
  preview: switchFlag('show which letters are meant, with cut-off time and digest; change nothing'),
  until: time('cut-off time from --preview: letters that failed later stay as they are', 'past'),
  digest: word('DIGEST', 'digest from --preview: change nothing if other letters match now'),
  yes: YES,
  ...decideFlags,
}
export const discardFlags = bulkFlags
export const assignFlags = { ...bulkFlags, owner: word('NAME', 'person who owns the groups (required)') }
export const purgeFlags = { ...bulkFlags, expired: switchFlag('only letters past their retention') }
export const exportFlags = {
  ...filterFlags,
  out: word('FILE', 'write to this file [stdout]'),
  format: choice(
    'FORMAT',
    ['jsonl', 'csv'],
    'jsonl: whole letters, unmasked, for another store; csv: a masked table [jsonl]',
  ),
  by: BY,
  ...storeFlags,
}
export const importFlags = { by: BY, ...storeFlags }

/** The typed filter without undefined fields, so that messages can list it. */
export function filterOf(flags: Partial<Values<typeof filterFlags>>): LetterFilter {
  const { channel, handler, type, reason, category, state, group, after, before, search } = flags
  const { release, error, where, 'min-attempts': minAttempts, 'max-attempts': maxAttempts } = flags
  return givenFields({
    ...{ channel, handler, type, reason, category, state, group, after, before, search },
    ...{ release, error, minAttempts, maxAttempts, where },
  })
}

const stages: Flag<readonly Stage[]> = {
  about: 'letters per stage; a stage waits for the outcomes of the one before [1,10,100,rest]',
  placeholder: 'LIST',
  read(text) {
    const parts = text.split(',').map(part => part.trim())
    if (!parts.every(part => part === 'rest' || /^[1-9]\d{0,8}$/.test(part)))
      throw new FlagValueError("give numbers and 'rest', separated by commas, such as '1,10,100,rest'")
    if (parts.slice(0, -1).includes('rest')) throw new FlagValueError("'rest' must be last")
    return parts.map(part => (part === 'rest' ? part : Number(part)))
  },
}

export const planFlags = {
  ...whichLetters,
  'letter-reason': REASON,
  reason: word('TEXT', 'reason for the replay (required)'),
  stages,
  'per-second': amount('maximum letters per second [50]', { above: 0, max: 100_000 }),
  'halt-refail-ratio': amount('halt when more than this share fails again [0.2]', { max: 1 }),
  'no-halt-on-same-cause': switchFlag('do not halt when the first letters fail with the same cause again'),
  to: word('CHANNEL', 'send to this channel instead of the original one'),
  patch: word('FILE', 'JSON Patch (RFC 6902) to apply to every payload'),
  'max-age': duration('skip letters that first failed longer ago than this [24h]'),
  'allow-quarantined': switchFlag('also send quarantined letters, after you fixed their cause'),
  'require-schema': switchFlag('skip letters that no schema has checked'),
  'needs-approval': switchFlag('require approval by a second person'),
  by: BY,
  ...storeFlags,
}
export const replayListFlags = {
  state: choice('STATE', REPLAY_STATES, 'only replays in this state'),
  limit: count('maximum number to show [20]'),
  ...storeFlags,
}
export const controlFlags = { note: word('TEXT', 'reason, for the audit log'), by: BY, ...storeFlags }
export const runFlags = { yes: YES, ...controlFlags }
