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
  type SeenLetter,
  type Spill,
  type TimelineSpan,
} from '../src/ports/dead-letters.ts'
import type { Claim, Ledger } from '../src/ports/ledger.ts'
import { recordStateChange, stateChangeOf } from './history.ts'
import { InjectedError, type Process } from './process.ts'

/** The write-only client of a process for the dead-letter store of the world. */
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
      // All three calls read the store in the same tick, so nothing happens between them.
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

/** The full client. A consumer needs `change` of it. */
export class LetterStoreClient extends LetterQueueClient implements DeadLetterStore {
  async change(id: string, change: LetterChange): Promise<DeadLetter | undefined> {
    return this.process.callPort('store', 'change', async () => {
      const { store, history } = this.process.world
      // Both calls read the store in the same tick, so nothing happens between them.
      const [before, after] = await Promise.all([store.get(id), store.change(id, change)])
      if (before !== undefined && after !== undefined)
        recordStateChange(history, this.process.name, before, after)
      return after
    })
  }

  list(query?: LetterQuery): Promise<LetterPage> {
    return this.process.world.store.list(query)
  }

  /**
   * An unreachable store cannot be read either. This draws no random number, so the worlds of old seeds stay the same.
   */
  async get(id: string): Promise<DeadLetter | undefined> {
    const { store, faults } = this.process.world
    if (faults.isInOutage('store-down')) throw new InjectedError('refused')
    return store.get(id)
  }

  delete(id: string): Promise<boolean> {
    return this.process.world.store.delete(id)
  }

  deleteMany(seen: readonly SeenLetter[]): Promise<readonly string[]> {
    return this.process.world.store.deleteMany(seen)
  }

  versions(filter?: LetterFilter): AsyncIterable<readonly SeenLetter[]> {
    return this.process.world.store.versions(filter)
  }

  stats(filter?: LetterFilter): Promise<LetterStats> {
    return this.process.world.store.stats(filter)
  }

  timeline(filter: LetterFilter, span: TimelineSpan): Promise<readonly number[]> {
    return this.process.world.store.timeline(filter, span)
  }
}

/** The spill is on the disk of the machine: it outlives the process, and the next process finds its letters. */
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

  /** If the process ends during a drain, the unsent letters stay on the disk. */
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

/** The dead-letter options of consumers and dispatchers. */
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

  /** The consumer of a name in the ledger. The last part of the name is the handler. */
  #owner(name: string): { readonly handler: string; readonly consumer: string } {
    const handler = name.slice(name.lastIndexOf('/') + 1)
    return { handler, consumer: `${this.#process.name}/${handler}` }
  }

  async forget(handler: string, key: string): Promise<void> {
    await this.#process.world.ledger.forget(handler, key)
  }

  async close(): Promise<void> {}
}
