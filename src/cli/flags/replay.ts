import type { ReplayState, Stage } from '../../ports/replays.ts'
import { amount, choice, count, duration, type Flag, onOff, Unreadable, word } from '../flag.ts'
import { BY, storeFlags, YES } from './common.ts'
import { LETTER_REASON, whichLetters } from './letters.ts'

const REPLAY_STATES: readonly ReplayState[] = [
  'planned',
  'approved',
  'running',
  'paused',
  'halted',
  'finished',
  'cancelled',
]

const stages: Flag<readonly Stage[]> = {
  about: 'letters per stage; each waits for the outcomes of the one before [1,10,100,rest]',
  placeholder: 'LIST',
  read(text) {
    const parts = text.split(',').map(part => part.trim())
    if (!parts.every(part => part === 'rest' || /^[1-9]\d{0,8}$/.test(part)))
      throw new Unreadable("give numbers and 'rest' with commas between, such as '1,10,100,rest'")
    return parts.map(part => (part === 'rest' ? part : Number(part)))
  },
}

export const planFlags = {
  ...whichLetters,
  'letter-reason': LETTER_REASON,
  reason: word('TEXT', 'why they are sent again (required)'),
  stages,
  'per-second': amount('letters sent per second at most [50]', { above: 0, max: 100_000 }),
  'halt-refail-ratio': amount('halt when more than this share fails again [0.2]', { max: 1 }),
  'go-on-with-same-cause': onOff('do not halt when the first ones fail with the cause they had before'),
  to: word('CHANNEL', 'send to another channel than they came from'),
  patch: word('FILE', 'a JSON Patch (RFC 6902) to make on every payload'),
  'max-age': duration('leave out what first failed longer ago than this [24h]'),
  'allow-quarantined': onOff('send quarantined letters too, the cause being mended'),
  'needs-approval': onOff('a second person has to approve it first'),
  by: BY,
  ...storeFlags,
}
export const replayListFlags = {
  state: choice('STATE', REPLAY_STATES, 'in this state'),
  limit: count('how many to show [20]'),
  ...storeFlags,
}
export const replayShowFlags = storeFlags
export const steerFlags = { note: word('TEXT', 'why'), by: BY, ...storeFlags }
export const runFlags = { ...steerFlags, yes: YES }
