import type { BreakerState, Group, LetterState, ReplayState } from '../api/types.ts'
import { Icon, type IconName } from './icons.tsx'
import { RelativeTime } from './time.tsx'
import './tags.css'

export type Tone = 'signal' | 'waits' | 'good' | 'bad' | 'odd' | 'sea' | 'idle' | 'plain'

/** A state: a shape, a word and a colour, in that order of importance. */
export function Tag({ tone, glyph, children }: { tone: Tone; glyph?: IconName; children: React.ReactNode }) {
  return (
    <span className={`tag ${tone}`}>
      {glyph && <Icon name={glyph} size={12} />}
      {children}
    </span>
  )
}

const LETTERS: Readonly<Record<LetterState, readonly [Tone, IconName]>> = {
  dead: ['waits', 'flag'],
  quarantined: ['odd', 'lock'],
  replaying: ['sea', 'play'],
  parked: ['idle', 'pause'],
  resolved: ['good', 'check'],
  discarded: ['idle', 'dash'],
}

export function LetterTag({ state }: { state: LetterState }) {
  const [tone, glyph] = LETTERS[state] ?? ['plain', 'dots']
  return (
    <Tag tone={tone} glyph={glyph}>
      {state}
    </Tag>
  )
}

export function GroupTag({ group }: { group: Pick<Group, 'state' | 'regressed' | 'mutedUntil'> }) {
  if (group.regressed)
    return (
      <Tag tone="bad" glyph="back">
        regressed
      </Tag>
    )
  switch (group.state) {
    case 'open':
      return (
        <Tag tone="signal" glyph="flag">
          open
        </Tag>
      )
    case 'acknowledged':
      return (
        <Tag tone="sea" glyph="eye">
          acknowledged
        </Tag>
      )
    case 'muted':
      return (
        <Tag tone="idle" glyph="bell">
          <span>muted{group.mutedUntil && <RelativeTime at={group.mutedUntil} prefix=", ends " />}</span>
        </Tag>
      )
    default:
      return (
        <Tag tone="good" glyph="check">
          resolved
        </Tag>
      )
  }
}

const REPLAYS: Readonly<Record<ReplayState, readonly [Tone, IconName]>> = {
  planned: ['plain', 'dots'],
  approved: ['sea', 'check'],
  running: ['sea', 'play'],
  paused: ['idle', 'pause'],
  halted: ['signal', 'flag'],
  finished: ['good', 'check'],
  cancelled: ['idle', 'cross'],
}

export function ReplayTag({ state }: { state: ReplayState }) {
  const [tone, glyph] = REPLAYS[state] ?? ['plain', 'dots']
  return (
    <Tag tone={tone} glyph={glyph}>
      {state}
    </Tag>
  )
}

const BREAKERS: Readonly<Record<BreakerState, readonly [Tone, IconName, string]>> = {
  closed: ['good', 'check', 'closed'],
  open: ['signal', 'flag', 'open'],
  'half-open': ['sea', 'dots', 'half-open'],
  'forced-open': ['signal', 'lock', 'forced open'],
  'forced-closed': ['odd', 'lock', 'forced closed'],
  off: ['plain', 'dash', 'no breaker'],
}

export function BreakerTag({ state }: { state: BreakerState }) {
  const [tone, glyph, word] = BREAKERS[state] ?? ['plain', 'dots', state]
  return (
    <Tag tone={tone} glyph={glyph}>
      {word}
    </Tag>
  )
}
