import { groupingOf } from '../core/dead-letter/group.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { Observer } from '../ports/observer.ts'
import type { Replay, ReplayState } from '../ports/replays.ts'

export const MILESTONES = [
  'orders',
  'broken-release',
  'wrong-shape',
  'bad-address',
  'poison',
  'retry',
  'breaker-opens',
  'breaker-closes',
  'sink-fails',
  'sink-recovers',
  'burst',
  'replay-halts',
  'fix',
  'replay-recovers',
] as const

export type Milestone = (typeof MILESTONES)[number]

/** So many letters of the broken release are enough to be seen. */
const ENOUGH_LETTERS = 3

const OVER: readonly ReplayState[] = ['halted', 'finished', 'cancelled']

/**
 * What has happened in the shop so far, as far as it is worth seeing. It is told by what is observed, not by what the
 * story meant to do: what a person brings about counts just the same.
 */
export class Milestones {
  readonly #reached = new Set<Milestone>()
  readonly #replayEnded: () => void
  readonly #changed: () => void
  #brokenLetters = 0
  /** Whether a replay has halted or ended, however it did. */
  isReplayOver = false
  /** The group of the letters that the broken release left, once there is one. */
  brokenGroup: string | undefined

  /** `changed` is called after every new milestone, `replayEnded` after every outcome of a replay. */
  constructor(replayEnded: () => void, changed: () => void) {
    this.#replayEnded = replayEnded
    this.#changed = changed
  }

  has(milestone: Milestone): boolean {
    return this.#reached.has(milestone)
  }

  reach(milestone: Milestone): void {
    if (this.#reached.has(milestone)) return
    this.#reached.add(milestone)
    this.#changed()
  }

  /** Hand this to every consumer. */
  readonly observer: Observer = {
    eventProcessed: ({ outcome, attempts }) => {
      if (outcome !== 'done') return
      this.reach('orders')
      if (attempts > 1) this.reach('retry')
    },
    letterSaved: ({ letter }) => this.#look(letter),
    poisonQuarantined: () => this.reach('poison'),
    breakerChanged: ({ to }) => {
      if (to === 'open') this.reach('breaker-opens')
      if (to === 'closed' && this.has('breaker-opens')) this.reach('breaker-closes')
    },
    replayOutcome: () => this.#replayEnded(),
  }

  /** Hand this to the dispatcher. */
  readonly trackingObserver: Observer = {
    breakerChanged: ({ name, to }) => {
      if (name !== 'analytics') return
      if (to === 'open') this.reach('sink-fails')
      if (to === 'closed' && this.has('sink-fails')) this.reach('sink-recovers')
    },
    eventLimited: ({ became }) => {
      if (became === 'saved') this.reach('burst')
    },
    replayOutcome: () => this.#replayEnded(),
  }

  #look(letter: DeadLetter): void {
    const { reason, failure } = letter.cycle
    if (reason === 'schema') this.reach('wrong-shape')
    if (letter.channel === 'emails') this.reach('bad-address')
    if (letter.channel !== 'payments' || failure?.name !== 'TypeError') return
    this.brokenGroup = groupingOf(letter).id
    if (++this.#brokenLetters >= ENOUGH_LETTERS) this.reach('broken-release')
  }

  /** Replays are run elsewhere too, so they are looked at where they are kept. */
  checkReplay({ state }: Replay, recovered: number): void {
    if (state === 'halted') this.reach('replay-halts')
    if (state === 'finished' && recovered > 0) this.reach('replay-recovers')
    if (this.isReplayOver || !OVER.includes(state)) return
    this.isReplayOver = true
    this.#changed()
  }
}
