import { createLetter } from '../../core/dead-letter/create.ts'
import { letterId } from '../../core/dead-letter/identity.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import type { Reason } from '../../core/dead-letter/reason.ts'
import { REPLAY_HEADERS } from '../../core/event/replay-headers.ts'
import type { Failure } from '../../core/failure/failure.ts'
import type { Settlement } from '../../ports/broker.ts'
import type { DeadLetterQueue, DeadLetterStore, LetterChange } from '../../ports/dead-letters.ts'
import { isPoison, tellOfLetter } from '../letter-notices.ts'
import { SAVE_TIMEOUT_MS } from '../letters.ts'
import { observe } from '../observe.ts'
import { type Resilient, resilient } from '../resilient/resilient.ts'
import type { ConsumerPolicy } from './consumer-options.ts'
import type { Host, Next, Settling } from './settling.ts'
import type { Work } from './work.ts'

/** Why, and with what, an event is given up on. */
export interface Cause {
  readonly reason: Reason
  readonly failure?: Failure | undefined
  readonly thrown?: unknown
}

/** Gives events up, and brings letters to rest whose events were handled after all. */
export class Burial {
  readonly #policy: ConsumerPolicy
  readonly #host: Host
  readonly #settling: Settling
  readonly #change: Resilient<[id: string, change: LetterChange], unknown> | undefined

  constructor(policy: ConsumerPolicy, host: Host, settling: Settling) {
    this.#policy = policy
    this.#host = host
    this.#settling = settling
    const { deadLetters, clock } = policy
    if (isStore(deadLetters))
      this.#change = resilient((id: string, change: LetterChange) => deadLetters.change(id, change), {
        name: 'dead-letter store',
        clock,
        timeoutMs: SAVE_TIMEOUT_MS,
      })
  }

  /** The letter is durable before anything is acknowledged. */
  async bury(work: Work, cause: Cause, startedAt: number): Promise<Next> {
    const { box } = this.#host
    const letter = this.#write(work, cause)
    let kept: 'saved' | 'spilled' | 'filtered' | undefined
    if (box !== undefined) {
      const durable = await this.#host.persist(async () => {
        kept = await box.save(letter, { error: cause.thrown, failure: cause.failure })
      })
      // Closing before any store took it: the attempts are put on record and the event comes again.
      if (!durable || !(await this.#bringBack(work, letter)))
        return this.#settling.retry(work, this.#policy.clock.now(), startedAt)
    }
    // There is no letter that anybody could be told of.
    if (kept === 'filtered') return this.#settling.done(work, 'dead', startedAt)
    const settlement: Settlement = { outcome: 'dead', letter, saved: kept !== undefined }
    return this.#settling.settle(work, settlement, 'dead', startedAt, () => this.#tell(work, letter))
  }

  /**
   * A replayed event was handled, or had been before: its letter is resolved, and only then acknowledged. False when
   * the consumer closes before that could be written down.
   */
  async resolve(work: Work, outcome: 'recovered' | 'skipped'): Promise<boolean> {
    const { channel, name, clock, observer } = this.#policy
    const id = work.event.headers[REPLAY_HEADERS.letterId] ?? letterId(channel, name, work.event)
    const change = this.#change
    if (change !== undefined) {
      const resolved = { to: 'resolved', at: clock.now() } as const
      if (!(await this.#host.persist(() => change(id, resolved)))) return false
    }
    if (observer.replayOutcome) observe(observer, 'replayOutcome', { channel, letterId: id, outcome })
    return true
  }

  /** An event that was redirected here left its letter under another name: it is told that the replay failed. */
  async #bringBack(work: Work, letter: DeadLetter): Promise<boolean> {
    const origin = work.event.headers[REPLAY_HEADERS.letterId]
    const change = this.#change
    if (origin === undefined || origin === letter.id || change === undefined) return true
    const dead = { to: 'dead', from: 'replaying', at: this.#policy.clock.now() } as const
    return this.#host.persist(() => change(origin, dead))
  }

  #write(work: Work, { reason, failure }: Cause): DeadLetter {
    const { name, channel, caps, clock, release, host } = this.#policy
    return createLetter(
      {
        event: work.event,
        handler: name,
        channel,
        reason,
        at: clock.now(),
        failure,
        attempts: work.history,
        attemptCount: work.started,
        origin: work.delivery.origin,
        replay: work.replay,
        replayId: work.event.headers[REPLAY_HEADERS.replayId],
        release,
        host,
      },
      { caps },
    )
  }

  #tell(work: Work, letter: DeadLetter): void {
    const { channel, name, observer, notifier, trails } = this.#policy
    const { reason } = letter.cycle
    trails?.dead(work, letter)
    if (isPoison(letter) && observer.poisonQuarantined) {
      const by = reason === 'poison' ? 'repeats' : 'crashes'
      observe(observer, 'poisonQuarantined', { channel, name, by, letter })
    }
    if (work.replay > 0 && observer.replayOutcome)
      observe(observer, 'replayOutcome', { channel, letterId: letter.id, outcome: 'failed_again' })
    if (notifier !== undefined) void tellOfLetter(notifier, letter, observer)
  }
}

function isStore(deadLetters: DeadLetterQueue | DeadLetterStore | undefined): deadLetters is DeadLetterStore {
  return deadLetters !== undefined && 'change' in deadLetters
}
