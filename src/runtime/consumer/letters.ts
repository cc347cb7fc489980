import { claimOf } from '../../core/dead-letter/change.ts'
import { createLetter } from '../../core/dead-letter/create.ts'
import { letterId } from '../../core/dead-letter/identity.ts'
import type { DeadLetter, Origin } from '../../core/dead-letter/letter.ts'
import { type LetterMetadata, metadataOf } from '../../core/dead-letter/metadata.ts'
import type { Reason } from '../../core/dead-letter/reason.ts'
import { isKnownReplay } from '../../core/dead-letter/verify.ts'
import { withJson } from '../../core/event/exact-numbers.ts'
import type { EventReplay } from '../../core/event/replay-headers.ts'
import type { Failure } from '../../core/failure/failure.ts'
import type { Broker, Delivery, Settlement } from '../../ports/broker.ts'
import { isLetterFault, type LetterChange, UnreadableLetterError } from '../../ports/dead-letters.ts'
import { filterSubject, isKept, isPoison, isStore, notifyOfLetter, SAVE_TIMEOUT_MS } from '../letter-saver.ts'
import { observe } from '../observe.ts'
import { type Resilient, resilient } from '../resilient/resilient.ts'
import { type Closeable, isInUse } from '../share.ts'
import type { ConsumerPolicy } from './consumer-options.ts'
import type { DeliverySettler, Host, Next } from './delivery-settler.ts'
import type { LateRun } from './handler-runs.ts'
import type { Work } from './work.ts'

/** Why, and with what, an event is given up on. */
interface GiveUp {
  readonly reason: Reason
  readonly failure?: Failure | undefined
  readonly thrown?: unknown
}

interface CheckedReplay extends EventReplay {
  /** The letter could not be read. */
  readonly isUnverified?: true
}

/** Makes letters of events that a consumer gives up on, and resolves letters whose events were handled after all. */
export class ConsumerLetters {
  readonly #policy: ConsumerPolicy
  readonly #host: Host
  readonly #settler: DeliverySettler
  readonly #change: Resilient<[id: string, change: LetterChange], unknown> | undefined
  readonly #unblock: Resilient<[channel: string, eventId: string, handler: string], void>
  readonly #get: Resilient<[id: string], DeadLetter | undefined> | undefined

  constructor(policy: ConsumerPolicy, host: Host, settler: DeliverySettler) {
    this.#policy = policy
    this.#host = host
    this.#settler = settler
    const { broker, deadLetters, clock, random } = policy
    const unblock = (...which: [string, string, string]) => broker.unblockKey(...which)
    const limits = { clock, timeoutMs: SAVE_TIMEOUT_MS }
    this.#unblock = resilient(unblock, { ...limits, name: broker.name, random, retry: {} })
    if (!isStore(deadLetters)) return
    const ofStore = { ...limits, name: 'dead-letter store' }
    this.#change = resilient((id: string, change: LetterChange) => deadLetters.change(id, change), ofStore)
    this.#get = resilient((id: string) => deadLetters.get(id), ofStore)
  }

  /**
   * The letter is durable before anything is acknowledged. If the handler is still running, its run gets the letter, so
   * that a late success can resolve it; if the run has succeeded before the letter was saved, there is none. Rejects if the store
   * cannot merge the letter with the one that it has, and there is no spill: then the broker keeps the event.
   */
  async giveUp(work: Work, giveUp: GiveUp, startedAt: number, run?: LateRun): Promise<Next> {
    const { saver } = this.#host
    const replay = work.replayed && (await this.#checkedReplay(work))
    if (run?.hasSucceeded) {
      run.hasSettled = true
      return this.handled(work, startedAt)
    }
    const letter = this.#letter(work, giveUp, replay)
    const isFiltered = saver !== undefined && !this.#isKept(letter, giveUp)
    if (saver !== undefined && !isFiltered) {
      const durable = await this.#host.persist(() => saver.save(letter))
      // Closing before any store took it: the attempts are put on record and the event comes again.
      if (!durable || (work.replayed !== undefined && !(await this.#bringBack(work, work.replayed, letter))))
        return this.#settler.retry(work, this.#policy.clock.now(), startedAt)
    }
    if (run !== undefined) {
      run.resolveLetter = () => this.#resolveLate(run, letter.id)
      // It succeeded while the letter was being saved.
      if (run.hasSucceeded && (await run.resolveLetter())) {
        run.hasSettled = true
        return this.#settler.done(work, 'done', startedAt)
      }
    }
    // No letter was saved, so there is no notification.
    if (isFiltered) return this.#settler.done(work, 'dead', startedAt)
    const settlement: Settlement = { outcome: 'dead', letter, saved: saver !== undefined }
    return this.#settler.settle(work, settlement, 'dead', startedAt, () => {
      this.#tell(work, letter)
      // Resolved while the broker took the event as dead, which holds up its key.
      if (run?.isResolved) void this.#unblockKey(work)
    })
  }

  /** The event was handled now, or had been before (`skipped`): the letter of a replay is resolved, and then the event is done. */
  async handled(work: Work, startedAt: number, outcome: 'done' | 'skipped' = 'done'): Promise<Next> {
    const how = outcome === 'done' ? 'recovered' : outcome
    if (work.replayed !== undefined && !(await this.#resolve(work, work.replayed, how)))
      return this.#settler.giveBack(work, this.#policy.clock.now())
    return this.#settler.done(work, outcome, startedAt)
  }

  /** Resolves the letter of a replay, if it can be read. False when the consumer closes before that could be written down. */
  async #resolve(work: Work, replay: EventReplay, outcome: 'recovered' | 'skipped'): Promise<boolean> {
    const { channel, clock, observer } = this.#policy
    const id = this.#letterOf(work, replay)
    if (this.#change !== undefined) {
      const onlyIfSentBy = claimOf(work.event, replay)
      const ended = await this.#endReplay(id, { to: 'resolved', at: clock.now(), onlyIfSentBy })
      // The claim is forged, stale or already recorded. The event is handled, and no letter waits for it.
      if (ended !== 'recorded') return ended !== 'closing'
    }
    if (observer.replayOutcome) observe(observer, 'replayOutcome', { channel, letterId: id, outcome })
    return true
  }

  /**
   * The handler succeeded after its event had become a letter. A closed consumer changes the letter only in a store that others
   * use. A letter that has left `dead` or `quarantined` is in the hands of a person or a replay, and stays as it is; so does
   * one in a place that cannot change letters. Answers whether it is resolved now.
   */
  async #resolveLate(run: LateRun, id: string): Promise<boolean> {
    const change = this.#change
    if (change === undefined || !this.#mayUse(this.#policy.deadLetters)) return false
    for (const from of ['dead', 'quarantined'] as const) {
      const resolved = { to: 'resolved', from, at: this.#policy.clock.now() } as const
      const changed = await change(id, resolved).catch(() => undefined)
      if (changed === undefined) continue
      run.isResolved = true
      await this.#unblockKey(run.work)
      return true
    }
    return false
  }

  /** Later events of the key wait behind a dead one until it is resolved. */
  async #unblockKey({ event }: Work): Promise<void> {
    const { channel, name, broker } = this.#policy
    if (this.#mayUse(broker)) await this.#unblock(channel, event.id, name).catch(() => {})
  }

  #mayUse(resource: Closeable | undefined): boolean {
    return resource !== undefined && (!this.#host.closing.aborted || isInUse(resource))
  }

  /** Records the failure on the letter of a redirected event, which has another channel or handler. */
  async #bringBack({ event }: Work, replay: EventReplay, letter: DeadLetter): Promise<boolean> {
    const { letterId: origin } = replay
    if (origin === undefined || origin === letter.id || this.#change === undefined) return true
    const onlyIfSentBy = claimOf(event, replay)
    return (
      (await this.#endReplay(origin, { to: 'dead', at: this.#policy.clock.now(), onlyIfSentBy })) !==
      'closing'
    )
  }

  /**
   * Records the outcome of a replay on its letter. A letter that cannot be read stays as it is, for a process that can read it:
   * its event must neither run again nor hold up others because of it.
   */
  async #endReplay(id: string, outcome: LetterChange): Promise<'recorded' | 'not recorded' | 'closing'> {
    const { channel, name, observer } = this.#policy
    let letter: unknown
    try {
      const isAnswered = await this.#host.persist(async () => {
        letter = await this.#change?.(id, outcome)
      })
      if (!isAnswered) return 'closing'
    } catch (cause) {
      if (!isLetterFault(cause)) throw cause
      const error = new UnreadableLetterError(id, cause)
      if (observer.letterWriteFailed) observe(observer, 'letterWriteFailed', { channel, name, error })
    }
    return letter === undefined ? 'not recorded' : 'recorded'
  }

  /**
   * The replay that the event is, if its letter knows of it. Every publisher can claim to be the hundredth replay; the
   * letter of such an event would be parked immediately. While the store does not answer, the claim cannot be verified:
   * then the letter says so, and the claim is checked before the store gets it.
   */
  async #checkedReplay(work: Work): Promise<CheckedReplay | undefined> {
    const { replayed, event } = work
    const get = this.#get
    if (replayed === undefined || get === undefined) return replayed
    try {
      const letter = await get(this.#letterOf(work, replayed))
      return isKnownReplay(letter, claimOf(event, replayed)) ? replayed : undefined
    } catch {
      return { ...replayed, isUnverified: true }
    }
  }

  /** A replay that stays in its channel is of the letter of this handler; one that was redirected names its letter. */
  #letterOf({ event }: Work, { handler, letterId: named }: EventReplay): string {
    const { channel, name } = this.#policy
    return handler === undefined && named !== undefined ? named : letterId(channel, name, event)
  }

  #letter(work: Work, giveUp: GiveUp, replay: CheckedReplay | undefined): DeadLetter {
    const {
      name,
      channel,
      broker,
      caps,
      clock,
      release,
      host,
      expiresAfterMs,
      replayLimit,
      autoReplay,
      ordering,
    } = this.#policy
    const { reason, failure } = giveUp
    const letter = createLetter(
      {
        event: work.event,
        handler: name,
        channel,
        reason,
        at: clock.now(),
        failure,
        attempts: work.history,
        attemptCount: work.started,
        origin: originIn(broker, work.delivery),
        replay: replay?.attempt,
        replayId: replay?.replayId,
        isUnverified: replay?.isUnverified,
        expiresAfterMs: expiresAfterMs(channel, reason),
        ordering,
        metadata: this.#metadata(work, giveUp),
        release,
        host,
      },
      { caps, replayLimit: replayLimit(channel) },
    )
    return autoReplay(letter) ? { ...letter, autoReplay: true } : letter
  }

  #metadata(
    { event, started }: Work,
    { reason, failure, thrown: error }: GiveUp,
  ): LetterMetadata | undefined {
    const { name: handler, metadata, faults } = this.#policy
    if (typeof metadata !== 'function') return metadata
    const subject = () =>
      filterSubject({ event: withJson(event), handler, reason, attemptCount: started, error, failure })
    return metadataOf(metadata, subject, fault => faults.report('metadata', fault, { event }))
  }

  #isKept({ event, channel, handler, cycle }: DeadLetter, { failure, thrown: error }: GiveUp): boolean {
    const { filter, observer } = this.#policy
    const { number: replay, reason, attemptCount } = cycle
    const about = { event: withJson(event), channel, handler, replay, reason, attemptCount, error, failure }
    return isKept(filter, about, observer)
  }

  #tell(work: Work, letter: DeadLetter): void {
    const { channel, name, observer, notifier, trails } = this.#policy
    const { reason, number, isUnverified } = letter.cycle
    trails?.dead(work, letter)
    if (isPoison(letter) && observer.poisonQuarantined) {
      const by = reason === 'poison' ? 'repeats' : 'crashes'
      observe(observer, 'poisonQuarantined', { channel, name, by, letter })
    }
    if (number > 0 && !isUnverified && observer.replayOutcome)
      observe(observer, 'replayOutcome', { channel, letterId: letter.id, outcome: 'failed_again' })
    if (notifier !== undefined) void notifyOfLetter(notifier, letter, this.#policy)
  }
}

/** The delivery names the broker. A letter also says what kind of broker that is, so that its event goes back to no other. */
function originIn({ kind }: Broker, { origin }: Delivery): Origin {
  if (kind === undefined || origin.broker === undefined) return origin
  return { broker: origin.broker, brokerKind: kind, ...origin }
}
