import { createLetter } from '../../../core/dead-letter/create.ts'
import { createSaveFilter, type SaveFilter } from '../../../core/dead-letter/filter.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { type LetterMetadata, metadataOf } from '../../../core/dead-letter/metadata.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { Fifo } from '../../../core/fifo.ts'
import { type Cancel, settlesWithin } from '../../../ports/clock.ts'
import { ignoreErrors } from '../../../ports/tracing.ts'
import { filterSubject, type GivenUpEvent, isKept, type LetterSaver } from '../../letter-saver.ts'
import { guardTest } from '../../user-functions/guards.ts'
import type { UserFaults } from '../../user-functions/user-faults.ts'
import type { DispatcherPolicy } from '../dispatcher-options.ts'
import { EVERY_SINK } from '../track/entry-limit.ts'
import type { TrackJournal } from '../track/journal.ts'
import { inOwnContext, observeAsOwn } from '../track/own-context.ts'
import type { GiveUp } from '../track/track-result.ts'
import type { TrackingScope } from '../track/tracking-mode.ts'

/** A sink that goes down can turn a whole buffer into letters in one moment; its store is not to go down with it. */
const SAVES_AT_ONCE = 100
/** Letters that no store took, kept in memory for another try. */
const MAX_HELD = 10_000
/** Letters of events that are in no buffer, on their way to the store: callers that do not wait could bring any number. */
const MAX_UNBUFFERED = 10_000
const RETRY_MS = 500
const RETRY_MAX_MS = 30_000

/** The origin of tracked events: the dispatcher itself and not a broker. */
const OWN_SYSTEM = 'lazaret'

/** What became of the letter. */
type Kept = 'dead_lettered' | 'dropped' | 'unsaved'

/** Whose letter it is: a tracked event, or one that the dispatcher refused. */
interface LetterSubject {
  readonly event: LazaretEvent
  readonly scope: TrackingScope
  /** Which replay of the event it is; 0 for its first cycle. */
  readonly replay: number
  readonly replayId?: string | undefined
}

interface Save {
  readonly letter: DeadLetter
  /** The letter was saved before, and says more now. */
  readonly again: boolean
  readonly tell: (kept: Kept) => void
}

/**
 * Makes letters of events that a dispatcher gives up on, and saves them, a bounded number at a time. A letter that
 * neither the store nor the spill takes is held and tried again until one of them does: the code that tracked its event
 * may have ended, so nobody else would. When the dispatcher closes, the journal takes the letters that are left.
 */
export class DispatcherLetters {
  readonly #policy: DispatcherPolicy
  readonly #saver: LetterSaver
  readonly #faults: UserFaults
  #filter: SaveFilter
  #autoReplay: (letter: DeadLetter) => boolean
  readonly #journal: TrackJournal | undefined
  readonly #rescues = new Set<Promise<void>>()
  readonly #waiting = new Fifo<Save>()
  readonly #underWay = new Set<Save>()
  readonly #unbuffered = new Set<Promise<Kept>>()
  /** Waiting letters by id. A newer version of a letter replaces the older one. */
  readonly #held = new Map<string, Save>()
  #retryMs = RETRY_MS
  #cancelRetry: Cancel | undefined
  #idle: (() => void) | undefined
  #isClosed = false

  constructor(
    policy: DispatcherPolicy,
    saver: LetterSaver,
    journal: TrackJournal | undefined,
    faults: UserFaults,
  ) {
    this.#policy = policy
    this.#saver = saver
    this.#faults = faults
    this.#filter = this.#filterOf(policy)
    this.#autoReplay = this.#autoReplayOf(policy)
    this.#journal = journal
  }

  /** The policy has new options. */
  policyChanged(): void {
    this.#filter = this.#filterOf(this.#policy)
    this.#autoReplay = this.#autoReplayOf(this.#policy)
  }

  #filterOf({ filter }: DispatcherPolicy): SaveFilter {
    return createSaveFilter(filter, (_rule, error, { event }) =>
      this.#faults.report('filter', error, { event }),
    )
  }

  #autoReplayOf({ autoReplay }: DispatcherPolicy): (letter: DeadLetter) => boolean {
    return guardTest(autoReplay, 'autoReplay', false, this.#faults, letter => ({ letter }))
  }

  /** How many letters are in memory only. */
  get held(): number {
    return this.#held.size
  }

  /**
   * Saves what a sink, or the dispatcher for all of them, gives up on. `inVain`: with that, no sink of a job's event is
   * left. Never rejects.
   */
  save(subject: LetterSubject, handler: string, giveUp: GiveUp, inVain: boolean): Promise<Kept> {
    const { tracing, observer } = this.#policy
    const about = givenUpEvent(subject, handler, giveUp, inVain)
    // The filter runs before the letter is created, because creating a letter is the most expensive step.
    if (!isKept(this.#filter, about, observer, observeAsOwn)) return Promise.resolve('dropped')
    const letter = this.#letter(subject, giveUp, about)
    const kept = this.#send(letter, giveUp)
    return tracing === undefined ? kept : this.#followed(letter, kept)
  }

  /** Letters that are kept already say now that no sink of the job's event is left. The filter is not asked again. */
  async saveAgain(subject: LetterSubject, giveUps: ReadonlyMap<string, GiveUp>): Promise<void> {
    const again = Array.from(giveUps, ([sink, giveUp]) =>
      this.#send(this.#letter(subject, giveUp, givenUpEvent(subject, sink, giveUp, true)), giveUp, true),
    )
    await Promise.all(again)
  }

  /** Resolves when the letters that no buffer waits for are saved, or cannot be. */
  async flush(): Promise<void> {
    await Promise.all(this.#unbuffered)
  }

  /**
   * Waits for the saves under way and tries the held ones once more. The journal takes what is left then; what it does not
   * take is told as dropped.
   */
  async close(limitMs: number): Promise<void> {
    await settlesWithin(this.#policy.clock, limitMs, this.#settled())
    if (this.#held.size > 0) await settlesWithin(this.#policy.clock, limitMs, this.#retryHeld())
    this.#isClosed = true
    this.#cancelRetry?.()
    for (const save of this.#held.values()) this.#lose(save)
    this.#held.clear()
    for (const save of [...this.#unfinished(), ...this.#waiting.drain()]) {
      this.#lose(save)
      save.tell('unsaved')
    }
    await Promise.all(this.#rescues)
  }

  /** A hanging store may still save them. But the dispatcher closes, and the journal is about to close too. */
  #unfinished(): Save[] {
    if (this.#journal === undefined) return []
    const saves = [...this.#underWay]
    this.#underWay.clear()
    return saves
  }

  #letter(subject: LetterSubject, giveUp: GiveUp, about: GivenUpEvent): DeadLetter {
    const { clock, caps, release, host, expiresAfterMs, replayLimit } = this.#policy
    const { event, replay, replayId } = subject
    const { job } = subject.scope
    const { reason: endedBy, failure, attempts, attemptCount, detail } = giveUp
    const { handler, reason } = about
    const letter = createLetter(
      {
        event,
        handler,
        reason,
        at: clock.now(),
        failure,
        attempts,
        attemptCount,
        replay,
        replayId,
        expiresAfterMs: expiresAfterMs(event.channel, reason),
        // From the first telling on: a second one in the same moment does not replace it.
        detail: job === undefined ? detail : { ...detail, endedBy },
        metadata: this.#metadata(about),
        job,
        release,
        host,
      },
      { caps, replayLimit: replayLimit(event.channel) },
    )
    return this.#autoReplay(letter) ? { ...letter, autoReplay: true } : letter
  }

  #metadata(about: GivenUpEvent): LetterMetadata | undefined {
    const { metadata } = this.#policy
    if (typeof metadata !== 'function') return metadata
    const report = (error: unknown) => this.#faults.report('metadata', error, { event: about.event })
    return metadataOf(metadata, () => filterSubject(about), report)
  }

  #send(letter: DeadLetter, { reason }: GiveUp, again = false): Promise<Kept> {
    const isBuffered = letter.handler !== EVERY_SINK && reason !== 'buffer_full'
    return isBuffered ? this.#enqueue(letter, again) : this.#enqueueUnbuffered(letter, again)
  }

  /**
   * Letters of events that count in no buffer are bounded here: when there are too many of them at once, the letter is
   * lost, and told as such.
   */
  async #enqueueUnbuffered(letter: DeadLetter, again: boolean): Promise<Kept> {
    if (this.#unbuffered.size >= MAX_UNBUFFERED) {
      this.#lose({ letter, again })
      return 'unsaved'
    }
    const saved = this.#enqueue(letter, again)
    this.#unbuffered.add(saved)
    const kept = await saved
    this.#unbuffered.delete(saved)
    return kept
  }

  #enqueue(letter: DeadLetter, again: boolean): Promise<Kept> {
    return new Promise(tell => {
      this.#waiting.push({ letter, again, tell })
      this.#startSaves()
    })
  }

  /** Tells the event's trace that it ended here, once the letter is safe. */
  async #followed(letter: DeadLetter, saving: Promise<Kept>): Promise<Kept> {
    const { tracing, clock } = this.#policy
    const { event, channel, handler } = letter
    const kept = await saving
    if (kept === 'dead_lettered')
      ignoreErrors(() =>
        tracing?.follow(event, { system: OWN_SYSTEM, channel, handler })?.dead(letter, clock.now()),
      )
    return kept
  }

  #startSaves(): void {
    while (this.#underWay.size < SAVES_AT_ONCE) {
      const save = this.#waiting.shift()
      if (save === undefined) break
      this.#underWay.add(save)
      // This code still runs in the async context of the code that tracked the event.
      void inOwnContext(() => this.#save(save)).then(kept => {
        this.#underWay.delete(save)
        save.tell(kept)
        this.#startSaves()
      })
    }
    if (this.#underWay.size === 0) this.#idle?.()
  }

  async #save(save: Save): Promise<Kept> {
    try {
      await this.#saver.save(save.letter, save.again)
      return 'dead_lettered'
    } catch {
      // The letter saver has observed the error.
      this.#hold(save)
      return 'unsaved'
    }
  }

  #hold(save: Save): void {
    // The journal has it.
    if (!this.#underWay.has(save)) return
    const { id } = save.letter
    if (this.#isClosed || (this.#held.size >= MAX_HELD && !this.#held.has(id))) this.#lose(save)
    else this.#held.set(id, save)
    this.#scheduleRetry()
  }

  #scheduleRetry(): void {
    if (this.#cancelRetry !== undefined || this.#held.size === 0 || this.#isClosed) return
    this.#cancelRetry = this.#policy.clock.schedule(this.#retryMs, () => {
      this.#retryMs = Math.min(RETRY_MAX_MS, this.#retryMs * 2)
      void inOwnContext(() => this.#retryHeld()).then(() => {
        this.#cancelRetry = undefined
        this.#scheduleRetry()
      })
    })
  }

  /** One after the other, and only as long as the store takes them. */
  async #retryHeld(): Promise<void> {
    for (const save of [...this.#held.values()]) {
      if (!(await this.#retry(save))) return
      this.#retryMs = RETRY_MS
    }
  }

  async #retry(save: Save): Promise<boolean> {
    const { letter, again } = save
    try {
      await this.#saver.save(letter, again)
    } catch {
      return false
    }
    if (this.#held.get(letter.id) === save) this.#held.delete(letter.id)
    return true
  }

  /** A second version of a letter loses only its additions, because the first version is saved. */
  #lose({ letter, again }: Pick<Save, 'letter' | 'again'>): void {
    if (again) return
    if (!this.#isClosed || this.#journal === undefined) {
      this.#observeLost(letter)
      return
    }
    const rescue = this.#journal
      .leaveLetter(letter)
      .then(isLeft => (isLeft ? undefined : this.#observeLost(letter)))
    this.#rescues.add(rescue)
    void rescue.then(() => this.#rescues.delete(rescue))
  }

  #observeLost({ handler: name, event: { type }, cycle: { reason } }: DeadLetter): void {
    const { observer } = this.#policy
    if (observer.eventDropped) observeAsOwn(observer, 'eventDropped', { name, type, reason })
  }

  #settled(): Promise<void> {
    return new Promise(resolve => {
      if (this.#underWay.size === 0) resolve()
      else this.#idle = resolve
    })
  }
}

function givenUpEvent(
  { event, replay }: LetterSubject,
  handler: string,
  giveUp: GiveUp,
  inVain: boolean,
): GivenUpEvent {
  const { reason: endedBy, attempts, thrown: error, failure } = giveUp
  return {
    event,
    channel: event.channel,
    handler,
    replay,
    reason: inVain ? 'tracking_failed_in_job' : endedBy,
    endedBy,
    attemptCount: giveUp.attemptCount ?? attempts?.length ?? 0,
    error,
    failure,
  }
}
