import type { MemorySpill } from '../src/adapters/memory/letters/spill.ts'
import type { DeadLetter } from '../src/core/dead-letter/letter.ts'
import {
  type DeadLetterQueue,
  type DeadLetterStore,
  DeadLettersClosedError,
  type LetterChange,
  type LetterFilter,
  type LetterPage,
  type LetterQuery,
  type LetterStats,
  type Spill,
  type TimelineSpan,
} from '../src/ports/dead-letters.ts'
import type { Claim, Ledger } from '../src/ports/ledger.ts'
import { recordStateChange, stateChangeOf } from './history.ts'
import { InjectedError, type Process } from './process.ts'

/** A process's client of the dead-letter store of the world: the writing side only. */
export class LetterQueueClient implements DeadLetterQueue {
  protected readonly process: Process
  #isClosed = false

  constructor(process: Process) {
    this.process = process
  }

  async send(letter: DeadLetter): Promise<void> {
    if (this.#isClosed) throw new DeadLettersClosedError('world')
    await this.process.callPort('store', 'send', async () => {
      const { store, history } = this.process.world
      // All three look at the store at once: nothing comes between them.
      const [before, , after] = await Promise.all([
        store.get(letter.id),
        store.send(letter),
        store.get(letter.id),
      ])
      const became = stateChangeOf(before, after)
      history.record({ what: 'saved', by: this.process.name, where: 'store', letter, ...became })
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
  }
}

/** The same with the operating side, of which a consumer needs `change`. */
export class LetterStoreClient extends LetterQueueClient implements DeadLetterStore {
  async change(id: string, change: LetterChange): Promise<DeadLetter | undefined> {
    return this.process.callPort('store', 'change', async () => {
      const { store, history } = this.process.world
      // Both look at the store at once: nothing comes between them.
      const [before, after] = await Promise.all([store.get(id), store.change(id, change)])
      if (before !== undefined && after !== undefined)
        recordStateChange(history, this.process.name, before, after)
      return after
    })
  }

  list(query?: LetterQuery): Promise<LetterPage> {
    return this.process.world.store.list(query)
  }

  /** A store that is down cannot be read either. No chance is drawn for it, so worlds stay as they were. */
  async get(id: string): Promise<DeadLetter | undefined> {
    const { store, faults } = this.process.world
    if (faults.isInOutage('store-down')) throw new InjectedError('refused')
    return store.get(id)
  }

  delete(id: string): Promise<boolean> {
    return this.process.world.store.delete(id)
  }

  stats(filter?: LetterFilter): Promise<LetterStats> {
    return this.process.world.store.stats(filter)
  }

  timeline(filter: LetterFilter, span: TimelineSpan): Promise<readonly number[]> {
    return this.process.world.store.timeline(filter, span)
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
    await this.#process.callPort('spill', 'send', async () => {
      await this.#disk.send(letter)
      this.#process.world.history.record({ what: 'saved', by: this.#process.name, where: 'spill', letter })
    })
  }

  /** When the process ends in the middle, what it had not sent yet stays on the disk. */
  async drain(target: DeadLetterQueue): Promise<number> {
    const until = {
      send: (letter: DeadLetter) => Promise.race([target.send(letter), this.#ended]),
      close: async () => {},
    }
    return this.#process.callPort('spill', 'drain', () => this.#disk.drain(until))
  }

  async size(): Promise<number> {
    return this.#process.callPort('spill', 'size', () => this.#disk.size())
  }

  async close(): Promise<void> {}
}

/** What consumers and dispatchers are given for their letters. */
export interface Letters {
  readonly deadLetters: DeadLetterQueue | DeadLetterStore
  readonly spill?: Spill
}

export function letterClients(process: Process, disk: MemorySpill): Letters {
  const { plan } = process.world
  const deadLetters =
    plan.letters === 'queue' ? new LetterQueueClient(process) : new LetterStoreClient(process)
  return { deadLetters, ...(plan.hasSpill ? { spill: new SpillClient(process, disk) } : {}) }
}

export class LedgerClient implements Ledger {
  readonly #process: Process

  constructor(process: Process) {
    this.#process = process
  }

  async claim(name: string, key: string, leaseMs: number): Promise<Claim> {
    const askedAt = this.#process.world.clock.elapsedMs
    return this.#process.callPort('ledger', 'claim', async () => {
      const claim = await this.#process.world.ledger.claim(name, key, leaseMs)
      const { handler, consumer } = this.#owner(name)
      this.#process.world.history.record({ what: 'claimed', consumer, handler, key, answer: claim.kind })
      if (claim.kind === 'claimed') this.#process.recordClaim(handler, key, askedAt)
      return claim
    })
  }

  async renew(name: string, key: string, token: string, leaseMs: number): Promise<boolean> {
    return this.#process.callPort('ledger', 'renew', () =>
      this.#process.world.ledger.renew(name, key, token, leaseMs),
    )
  }

  async complete(name: string, key: string, token: string): Promise<boolean> {
    return this.#process.callPort('ledger', 'complete', async () => {
      const took = await this.#process.world.ledger.complete(name, key, token)
      this.#process.world.history.record({ what: 'completed', ...this.#owner(name), key, took })
      return took
    })
  }

  async release(name: string, key: string, token: string): Promise<boolean> {
    return this.#process.callPort('ledger', 'release', async () => {
      const took = await this.#process.world.ledger.release(name, key, token)
      if (took) this.#process.world.history.record({ what: 'released', ...this.#owner(name), key })
      return took
    })
  }

  /** The consumer that a name in the ledger stands for: the last part of it is the handler. */
  #owner(name: string): { readonly handler: string; readonly consumer: string } {
    const handler = name.slice(name.lastIndexOf('/') + 1)
    return { handler, consumer: `${this.#process.name}/${handler}` }
  }

  async forget(handler: string, key: string): Promise<void> {
    await this.#process.world.ledger.forget(handler, key)
  }

  async close(): Promise<void> {}
}
