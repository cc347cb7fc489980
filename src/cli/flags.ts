import { TRIAGE_STATES } from '../core/dead-letter/group.ts'
import { REASONS, type Reason } from '../core/dead-letter/reason.ts'
import { LETTER_STATES } from '../core/dead-letter/state.ts'
import { CATEGORIES } from '../core/failure/verdict.ts'
import type { LetterFilter } from '../ports/dead-letters.ts'
import { REPLAY_STATES, type Stage } from '../ports/replays.ts'
import {
  amount,
  choice,
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
const JSON_OUTPUT = switchFlag('JSON on stdout and nothing else there; messages go to stderr')
const YES = switchFlag('go on without asking')
const BY = word('NAME', 'who does it, for the audit [$USER]')

/** Every command that works on a store takes these. */
export const storeFlags = {
  store: word('URL', 'memory: · file:DIR · sqlite:FILE · postgres://… · redis://… [sqlite:./lazaret.db]'),
  config: word('FILE', 'the config file [./lazaret.yaml, if there is one]'),
  json: JSON_OUTPUT,
  help: HELP,
}

export const serveFlags = {
  port: port('the port it listens on [4600]'),
  host: word('NAME', 'the address it listens on; any but a loopback needs tokens in the config [127.0.0.1]'),
  ...storeFlags,
}
export const completionFlags = { help: HELP }
export const demoFlags = {
  port: port('the port of its console [4600, or the next free one]'),
  host: word('NAME', 'the address it listens on [127.0.0.1]'),
  seed: count('which shop it is: the same seed gives the same one again [1]'),
  store: word('URL', 'a new sqlite:FILE to keep, or memory: [a file that is gone afterwards]'),
  json: JSON_OUTPUT,
  help: HELP,
}

export const migrateFlags = {
  print: switchFlag('print the SQL and do nothing, for whoever runs migrations otherwise'),
  ...storeFlags,
}

export const rabbitmqFlags = {
  url: word('URL', 'the server; a password is better kept in $LAZARET_AMQP_URL [amqp://localhost]'),
  json: JSON_OUTPUT,
  help: HELP,
}

export const declareFlags = {
  channel: word('NAME', 'the channel whose events the queue gets [the name of the queue]'),
  'queue-type': choice('TYPE', ['quorum', 'classic'], 'of all queues that are declared [quorum]'),
  'dead-letter-ttl': duration('how long dead letters are kept on the server [for ever]'),
  ordered: switchFlag('also what keeping the order of keys needs'),
  'max-length': count('messages after which a queue refuses more; quorum queues [no limit]'),
  'dead-letter-max-length': count('letters after which a dead-letter queue refuses more [no limit]'),
  ...rabbitmqFlags,
}

export const groupListFlags = {
  state: choice('STATE', TRIAGE_STATES, 'in this state'),
  channel: word('NAME', 'with letters of this channel'),
  search: word('TEXT', 'with this text in the title'),
  limit: countOrAll('how many to show [100]'),
  cursor: word('CURSOR', 'go on from where the last listing ended'),
  ...storeFlags,
}
export const triageFlags = {
  owner: word('NAME', 'who sees to it'),
  link: word('URL', 'where more is told, such as a ticket'),
  note: word('TEXT', 'a note for the others'),
  by: BY,
  ...storeFlags,
}
export const muteFlags = { until: time('until when', 'future'), ...triageFlags }

const REASON = choice('WHY', Object.keys(REASONS) as Reason[], 'why they were given up on', 'taken')

/** What can be asked of letters everywhere, but for their reason: a replay has a reason of its own. */
const whichLetters = {
  channel: word('NAME', 'of this channel'),
  handler: word('NAME', 'of this handler or sink'),
  type: word('TYPE', 'whose event is of this type'),
  category: choice('KIND', CATEGORIES, 'whose failure is of this kind'),
  state: choice('STATE', LETTER_STATES, 'in this state'),
  group: word('ID', 'of this group'),
  after: time('last failed at or after this time', 'past'),
  before: time('last failed before this time', 'past'),
  search: word('TEXT', "with this text in the error, or in the event's id, key or type"),
}

const filterFlags = { ...whichLetters, reason: REASON }

export const listFlags = {
  ...filterFlags,
  limit: countOrAll('how many to show [100]'),
  cursor: word('CURSOR', 'go on from where the last listing ended'),
  reveal: switchFlag('show what masks hide; this is written to the audit'),
  by: BY,
  ...storeFlags,
}
export const showFlags = { reveal: listFlags.reveal, by: BY, ...storeFlags }
export const statsFlags = { ...filterFlags, ...storeFlags }
export const decideFlags = { note: word('TEXT', 'why, for the audit'), by: BY, ...storeFlags }
export const purgeFlags = {
  ...filterFlags,
  expired: switchFlag('only those whose time to live is over'),
  preview: switchFlag('show what would be deleted, with its cut-off and digest; delete nothing'),
  until: time('the cut-off of a preview: letters that failed later stay', 'past'),
  digest: word('DIGEST', 'the digest of a preview: delete nothing if other letters match by now'),
  yes: YES,
  by: BY,
  ...storeFlags,
}
export const exportFlags = {
  ...filterFlags,
  out: word('FILE', 'write to this file [stdout]'),
  by: BY,
  ...storeFlags,
}
export const importFlags = { by: BY, ...storeFlags }

/** The filter that was typed. What was not stays out, so that it can be told in words. */
export function filterOf(flags: Partial<Values<typeof filterFlags>>): LetterFilter {
  const { channel, handler, type, reason, category, state, group, after, before, search } = flags
  const given = { channel, handler, type, reason, category, state, group, after, before, search }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

const stages: Flag<readonly Stage[]> = {
  about: 'letters per stage; each waits for the outcomes of the one before [1,10,100,rest]',
  placeholder: 'LIST',
  read(text) {
    const parts = text.split(',').map(part => part.trim())
    if (!parts.every(part => part === 'rest' || /^[1-9]\d{0,8}$/.test(part)))
      throw new FlagValueError("give numbers and 'rest' with commas between, such as '1,10,100,rest'")
    return parts.map(part => (part === 'rest' ? part : Number(part)))
  },
}

export const planFlags = {
  ...whichLetters,
  'letter-reason': REASON,
  reason: word('TEXT', 'why they are sent again (required)'),
  stages,
  'per-second': amount('letters sent per second at most [50]', { above: 0, max: 100_000 }),
  'halt-refail-ratio': amount('halt when more than this share fails again [0.2]', { max: 1 }),
  'no-halt-on-same-cause': switchFlag('do not halt when the first ones fail with the cause they had before'),
  to: word('CHANNEL', 'send to another channel than they came from'),
  patch: word('FILE', 'a JSON Patch (RFC 6902) to make on every payload'),
  'max-age': duration('leave out what first failed longer ago than this [24h]'),
  'allow-quarantined': switchFlag('send quarantined letters too, the cause being mended'),
  'needs-approval': switchFlag('a second person has to approve it first'),
  by: BY,
  ...storeFlags,
}
export const replayListFlags = {
  state: choice('STATE', REPLAY_STATES, 'in this state'),
  limit: count('how many to show [20]'),
  ...storeFlags,
}
export const controlFlags = { note: word('TEXT', 'why'), by: BY, ...storeFlags }
export const runFlags = { ...controlFlags, yes: YES }
