import type { MemorySpill } from '../src/adapters/memory/spill.ts'
import type { DeadLetter } from '../src/core/dead-letter/letter.ts'
import { DeadLettersClosedError } from '../src/ports/dead-letter-errors.ts'
import type {
  DeadLetterQueue,
  DeadLetterStore,
  LetterChange,
  LetterFilter,
  LetterPage,
  LetterQuery,
  LetterStats,
  Spill,
  TimelineSpan,
} from '../src/ports/dead-letters.ts'
import type { Claim, Ledger } from '../src/ports/ledger.ts'
import type { Process } from './process.ts'

/** A process's client of the dead-letter store of the world: the writing side only. */
export class LetterQueueClient implements DeadLetterQueue {
  protected readonly process: Process
  #isClosed = false

  constructor(process: Process) {
    this.process = process
  }

  async send(letter: DeadLetter): Promise<void> {
    if (this.#isClosed) throw new DeadLettersClosedError('world')
    await this.process.cross('store', 'send', async () => {
      const { store, journal } = this.process.scene
      await store.send(letter)
      journal.note({ what: 'saved', by: this.process.name, where: 'store', letter })
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
  }
}

/** The same with the operating side, of which a consumer needs `change`. */
export class LetterStoreClient extends LetterQueueClient implements DeadLetterStore {
  async change(id: string, change: LetterChange): Promise<DeadLetter | undefined> {
    return this.process.cross('store', 'change', () => this.process.scene.store.change(id, change))
  }

  list(query?: LetterQuery): Promise<LetterPage> {
    return this.process.scene.store.list(query)
  }

  get(id: string): Promise<DeadLetter | undefined> {
    return this.process.scene.store.get(id)
  }

  delete(id: string): Promise<boolean> {
    return this.process.scene.store.delete(id)
  }

  stats(filter?: LetterFilter): Promise<LetterStats> {
    return this.process.scene.store.stats(filter)
  }

  timeline(filter: LetterFilter, span: TimelineSpan): Promise<readonly number[]> {
    return this.process.scene.store.timeline(filter, span)
  }
}

/** The spill lies on the machine's disk: it outlives the process, and the next one finds what was left. */
export class SpillClient implements Spill {
  readonly #process: Process
  readonly #disk: MemorySpill
  #ended: Promise<never>

  constructor(process: Process, disk: MemorySpill) {
    this.#process = process
    this.#disk = disk
    this.#ended = new Promise((_, reject) => {
      process.atEnd(() => reject(new Error('the process that drained is gone')))
    })
    this.#ended.catch(() => {})
  }

  async send(letter: DeadLetter): Promise<void> {
    await this.#process.cross('spill', 'send', async () => {
      await this.#disk.send(letter)
      this.#process.scene.journal.note({ what: 'saved', by: this.#process.name, where: 'spill', letter })
    })
  }

  /** When the process ends in the middle, what it had not sent yet stays on the disk. */
  async drain(target: DeadLetterQueue): Promise<number> {
    const until = {
      send: (letter: DeadLetter) => Promise.race([target.send(letter), this.#ended]),
      close: async () => {},
    }
    return this.#process.cross('spill', 'drain', () => this.#disk.drain(until))
  }

  async size(): Promise<number> {
    return this.#process.cross('spill', 'size', () => this.#disk.size())
  }

  async close(): Promise<void> {}
}

/** What consumers and dispatchers are given for their letters. */
export interface Letters {
  readonly deadLetters: DeadLetterQueue | DeadLetterStore
  readonly spill?: Spill
}

export function letterClients(process: Process, disk: MemorySpill): Letters {
  const { plan } = process.scene
  const deadLetters =
    plan.letters === 'queue' ? new LetterQueueClient(process) : new LetterStoreClient(process)
  return { deadLetters, ...(plan.hasSpill ? { spill: new SpillClient(process, disk) } : {}) }
}

export class LedgerClient implements Ledger {
  readonly #process: Process

  constructor(process: Process) {
    this.#process = process
  }

  async claim(handler: string, key: string, leaseMs: number): Promise<Claim> {
    const askedAt = this.#process.scene.clock.elapsedMs
    return this.#process.cross('ledger', 'claim', async () => {
      const claim = await this.#process.scene.ledger.claim(handler, key, leaseMs)
      const consumer = `${this.#process.name}/${handler}`
      this.#process.scene.journal.note({ what: 'claimed', consumer, handler, key, answer: claim.kind })
      if (claim.kind === 'claimed') this.#process.claimed(handler, key, askedAt)
      return claim
    })
  }

  async renew(handler: string, key: string, token: string, leaseMs: number): Promise<boolean> {
    return this.#process.cross('ledger', 'renew', () =>
      this.#process.scene.ledger.renew(handler, key, token, leaseMs),
    )
  }

  async complete(handler: string, key: string, token: string): Promise<boolean> {
    return this.#process.cross('ledger', 'complete', async () => {
      const took = await this.#process.scene.ledger.complete(handler, key, token)
      const consumer = `${this.#process.name}/${handler}`
      this.#process.scene.journal.note({ what: 'completed', consumer, handler, key, took })
      return took
    })
  }

  async release(handler: string, key: string, token: string): Promise<boolean> {
    return this.#process.cross('ledger', 'release', async () => {
      const took = await this.#process.scene.ledger.release(handler, key, token)
      const consumer = `${this.#process.name}/${handler}`
      if (took) this.#process.scene.journal.note({ what: 'released', consumer, handler, key })
      return took
    })
  }

  async forget(handler: string, key: string): Promise<void> {
    await this.#process.scene.ledger.forget(handler, key)
  }

  async close(): Promise<void> {}
}
