import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { Retention } from '../../../core/dead-letter/retention.ts'
import type { Store } from '../../../ports/store.ts'
import type { Factory } from '../../factories.ts'
import { freshFactory, type TestFunction, TestTiming, type Timing, testUnless } from '../harness.ts'

/** What an adapter gives the suite for each test: an empty store of its own. */
export interface StoreFixture extends Timing {
  readonly store: Store
  /** Opens another store on the same data, after the first was closed. */
  reopen?(): Promise<Store>
  /** Opens another store on the same data while the first is open, as another process would. */
  openSecond?(): Promise<Store>
  cleanup?(): Promise<void>
}

/** What `storeConformance()` needs to test a store. */
export interface StoreConformance {
  readonly test: TestFunction
  /** With `retention`, a store that keeps letters so long, if it has a retention of its own: one for each kind of time. */
  readonly setup: (options: StoreSetup) => Promise<StoreFixture>
  readonly declares: {
    /** What is in it survives the end of the process; the fixture has `reopen`. */
    readonly durable: boolean
  }
}

interface StoreSetup {
  readonly retention?: RetentionOfTest | undefined
}

/** Real time is short for a test, driven time is not. */
interface RetentionOfTest {
  readonly driven: Retention
  readonly real: Retention
}

/** One test's view of a store. */
export class StoreWorld {
  readonly make: Factory
  readonly timing: TestTiming
  readonly fixture: StoreFixture
  store: Store
  #other: Store | undefined

  constructor(fixture: StoreFixture) {
    this.fixture = fixture
    this.store = fixture.store
    this.timing = new TestTiming(fixture)
    this.make = freshFactory(this.timing)
  }

  /** Of the two, the one for the time that this world has. */
  retention({ driven, real }: RetentionOfTest): Retention {
    return this.fixture.clock === undefined ? real : driven
  }

  letterAt(at: number, error: Error, channel = 'orders'): DeadLetter {
    const attempts = [this.make.attempt(1, { startedAt: at, endedAt: at })]
    return this.make.letter({ event: this.make.event({ channel }), at, error, attempts })
  }

  async send(...letters: readonly DeadLetter[]): Promise<void> {
    for (const letter of letters) await this.store.deadLetters.send(letter)
  }

  /** Another process's store; the only one there is, where nobody else can get at the data. */
  async openSecond(): Promise<Store> {
    if (this.fixture.openSecond === undefined) return this.store
    this.#other ??= await this.fixture.openSecond()
    return this.#other
  }

  async close(): Promise<void> {
    await this.#other?.close()
    await this.store.close()
    await this.fixture.cleanup?.()
  }

  async restart(): Promise<Store> {
    await this.store.close()
    if (this.fixture.reopen === undefined) throw new Error('a durable store needs `reopen` in its fixture')
    this.store = await this.fixture.reopen()
    return this.store
  }
}

type InStoreWorld = (name: string, run: (world: StoreWorld) => Promise<void>) => void

export function inStoreWorld({ test, setup }: StoreConformance, skipBecause?: string): InStoreWorld {
  const define = testUnless(test, skipBecause)
  return (name, run) =>
    define(name, async () => {
      const world = new StoreWorld(await setup({}))
      try {
        await run(world)
      } finally {
        await world.close()
      }
    })
}

export function inDurableStoreWorld(suite: StoreConformance): InStoreWorld {
  return inStoreWorld(suite, suite.declares.durable ? undefined : 'declares durable: false')
}
