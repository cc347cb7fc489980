import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { type Cancel, type Clock, within } from '../../../ports/clock.ts'
import type { Observer } from '../../../ports/observer.ts'
import type { LetterBox, LetterCircumstances } from '../../letters.ts'
import { Fifo } from '../buffer/fifo.ts'
import { inOwnContext, observeAsOwn } from '../track/own-context.ts'

/** A sink that goes down can bury a whole buffer in one moment; its store is not to go down with it. */
const SAVES_AT_ONCE = 100
/** Letters that no store took, kept in memory for another try. */
const MOST_HELD = 10_000
/** Letters of events that are in no buffer, on their way to the store: callers that do not wait could bring any number. */
const MOST_UNBUFFERED = 10_000
const RETRY_MS = 500
const RETRY_MAX_MS = 30_000

export type Kept = 'dead_lettered' | 'dropped' | 'unsaved'

/** Where a letter goes that nothing took before the end; whether it is durable there. */
type LastResort = (letter: DeadLetter) => Promise<boolean>

interface Save {
  readonly letter: DeadLetter
  readonly circumstances: LetterCircumstances
  readonly tell: (kept: Kept) => void
}

/**
 * Saves letters, a bounded number at a time. A letter that neither the store nor the spill takes is held and tried again
 * until one of them does: whoever tracked its event may be long gone, so nobody else would.
 */
export class DispatcherLetters {
  readonly #box: LetterBox
  readonly #clock: Clock
  readonly #observer: Observer
  readonly #lastResort: LastResort | undefined
  readonly #rescues = new Set<Promise<void>>()
  readonly #waiting = new Fifo<Save>()
  readonly #underWay = new Set<Save>()
  readonly #unbuffered = new Set<Promise<Kept>>()
  /** By id: a letter that is told again replaces itself. */
  readonly #held = new Map<string, Save>()
  #retryMs = RETRY_MS
  #cancelRetry: Cancel | undefined
  #idle: (() => void) | undefined
  #isClosed = false

  constructor(box: LetterBox, clock: Clock, observer: Observer, lastResort?: LastResort) {
    this.#box = box
    this.#clock = clock
    this.#observer = observer
    this.#lastResort = lastResort
  }

  /** How many letters are in memory only. */
  get held(): number {
    return this.#held.size
  }

  /** Never rejects. */
  save(letter: DeadLetter, circumstances: LetterCircumstances): Promise<Kept> {
    return new Promise(tell => {
      this.#waiting.push({ letter, circumstances, tell })
      this.#startSaves()
    })
  }

  /** The same for an event that counts in no buffer. When there are too many of them at once it is lost, and told as such. */
  async saveUnbuffered(letter: DeadLetter, circumstances: LetterCircumstances): Promise<Kept> {
    if (this.#unbuffered.size >= MOST_UNBUFFERED) {
      this.#lose({ letter, circumstances })
      return 'unsaved'
    }
    const saved = this.save(letter, circumstances)
    this.#unbuffered.add(saved)
    const kept = await saved
    this.#unbuffered.delete(saved)
    return kept
  }

  /** Resolves when those are saved, or cannot be, that no buffer waits for. */
  async flush(): Promise<void> {
    await Promise.all(this.#unbuffered)
  }

  /**
   * Waits for the saves under way and tries the held ones once more. What is left then goes to the last resort, and is
   * told as dropped if that is of no avail.
   */
  async close(limitMs: number): Promise<void> {
    await within(this.#clock, limitMs, this.#settled())
    if (this.#held.size > 0) await within(this.#clock, limitMs, this.#retryHeld())
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

  /** A store that hangs may take them yet. But nobody waits for it any more, and the last resort is about to close. */
  #unfinished(): Save[] {
    if (this.#lastResort === undefined) return []
    const saves = [...this.#underWay]
    this.#underWay.clear()
    return saves
  }

  #startSaves(): void {
    while (this.#underWay.size < SAVES_AT_ONCE) {
      const save = this.#waiting.shift()
      if (save === undefined) break
      this.#underWay.add(save)
      // Whoever tracked the event is still in its own context here.
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
      const kept = await this.#box.save(save.letter, save.circumstances)
      return kept === 'filtered' ? 'dropped' : 'dead_lettered'
    } catch {
      // The letter box has told its observer why.
      this.#hold(save)
      return 'unsaved'
    }
  }

  #hold(save: Save): void {
    // The last resort has it.
    if (!this.#underWay.has(save)) return
    const { id } = save.letter
    if (this.#isClosed || (this.#held.size >= MOST_HELD && !this.#held.has(id))) this.#lose(save)
    else this.#held.set(id, save)
    this.#scheduleRetry()
  }

  #scheduleRetry(): void {
    if (this.#cancelRetry !== undefined || this.#held.size === 0 || this.#isClosed) return
    this.#cancelRetry = this.#clock.schedule(this.#retryMs, () => {
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
    const { letter, circumstances } = save
    try {
      await this.#box.save(letter, circumstances)
    } catch {
      return false
    }
    if (this.#held.get(letter.id) === save) this.#held.delete(letter.id)
    return true
  }

  /** Of a letter that is told again only what it says more is lost: it is kept since it was told first. */
  #lose({ letter, circumstances }: Pick<Save, 'letter' | 'circumstances'>): void {
    if (circumstances.again) return
    if (!this.#isClosed || this.#lastResort === undefined) {
      this.#tellLost(letter)
      return
    }
    const rescue = this.#lastResort(letter).then(isKept => (isKept ? undefined : this.#tellLost(letter)))
    this.#rescues.add(rescue)
    void rescue.then(() => this.#rescues.delete(rescue))
  }

  #tellLost({ handler: name, event: { type }, cycle: { reason } }: DeadLetter): void {
    if (this.#observer.eventDropped) observeAsOwn(this.#observer, 'eventDropped', { name, type, reason })
  }

  #settled(): Promise<void> {
    return new Promise(resolve => {
      if (this.#underWay.size === 0) resolve()
      else this.#idle = resolve
    })
  }
}
