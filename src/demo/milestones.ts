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

/** This many letters of the broken release make it visible in the console. */
const ENOUGH_LETTERS = 3

const OVER: readonly ReplayState[] = ['halted', 'finished', 'cancelled']

/**
 * The steps of the demo that have happened. Milestones follow from observations and not from the schedule, so a step that
 * a user causes counts as well.
 */
export class Milestones {
  readonly #reached = new Set<Milestone>()
  readonly #replayEnded: () => void
  readonly #changed: () => void
  #brokenLetters = 0
  /** Whether any replay has halted, finished or been cancelled. */
  isReplayOver = false
  /** The group of the letters from the broken release, after the first such letter. */
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

  /** The observer for every consumer. */
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

  /** The observer for the dispatcher. */
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

  /** The server runs replays too, so the scenario reads them from the store. */
  checkReplay({ state }: Replay, recovered: number): void {
    if (state === 'halted') this.reach('replay-halts')
    if (state === 'finished' && recovered > 0) this.reach('replay-recovers')
    if (this.isReplayOver || !OVER.includes(state)) return
    this.isReplayOver = true
    this.#changed()
  }
}
