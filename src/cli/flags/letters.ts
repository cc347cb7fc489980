import { REASONS, type Reason } from '../../core/dead-letter/reason.ts'
import { LETTER_STATES } from '../../core/dead-letter/state.ts'
import { CATEGORIES } from '../../core/failure/verdict.ts'
import type { LetterFilter } from '../../ports/dead-letters.ts'
import { choice, countOrAll, onOff, time, type Values, word } from '../flag.ts'
import { BY, storeFlags, YES } from './common.ts'

const REASON = choice('WHY', Object.keys(REASONS) as Reason[], 'why they were given up on', 'taken')

/** What can be asked of letters everywhere, but for their reason: a replay has a reason of its own. */
export const whichLetters = {
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
export const LETTER_REASON = REASON

export const listFlags = {
  ...filterFlags,
  limit: countOrAll('how many to show [100]'),
  cursor: word('CURSOR', 'go on from where the last listing ended'),
  reveal: onOff('show what masks hide; this is written to the audit'),
  by: BY,
  ...storeFlags,
}
export const showFlags = { reveal: listFlags.reveal, by: BY, ...storeFlags }
export const statsFlags = { ...filterFlags, ...storeFlags }
export const decideFlags = { note: word('TEXT', 'why, for the audit'), by: BY, ...storeFlags }
export const purgeFlags = {
  ...filterFlags,
  expired: onOff('only those whose time to live is over'),
  preview: onOff('show what would be deleted, with its cut-off and digest; delete nothing'),
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
