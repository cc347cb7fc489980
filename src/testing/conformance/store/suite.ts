import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { Retention } from '../../../core/dead-letter/retention.ts'
import type { Commands } from '../../../ports/commands.ts'
import type { Fleet } from '../../../ports/fleet.ts'
import type { Store } from '../../../ports/store.ts'
import { type Fixture, type TestFunction, type TestIn, testsIn, unlessDeclared, World } from '../harness.ts'

/** What an adapter gives the suite for each test: an empty store of its own. */
export interface StoreFixture extends Fixture<Store> {
  readonly store: Store
  /** Opens another store on the same data while the first is open, as another process would. */
  openSecond?(): Promise<Store>
}

/** What `storeConformance()` needs to test a store. */
export interface StoreConformance {
  readonly test: TestFunction
  /**
   * With `retention`, a store that applies this retention, if it has retention of its own. There is one value for
   * driven and one for real time.
   */
  readonly setup: (options: StoreSetup) => Promise<StoreFixture>
  readonly declares: {
    /** Data survives the end of the process; the fixture has `reopen`. */
    readonly durable: boolean
    /** Several processes can share the store: it has `fleet` and `commands`. */
    readonly fleet?: boolean | undefined
  }
}

interface StoreSetup {
  readonly retention?: RetentionOfTest | undefined
}

/** Retention times on real time are short, so that a test does not take long. */
interface RetentionOfTest {
  readonly driven: Retention
  readonly real: Retention
}

/** Longer than any test. */
export const LONG_MS = 3_600_000

/** One test's view of a store. */
export class StoreWorld extends World<Store, StoreFixture> {
  #other: Store | undefined

  constructor(fixture: StoreFixture) {
    super(fixture, fixture.store)
  }

  get store(): Store {
    return this.port
  }

  get fleet(): Fleet {
    return this.store.fleet!
  }

  get commands(): Commands {
    return this.store.commands!
  }

  /** The retention for the time of this world. */
  retention({ driven, real }: RetentionOfTest): Retention {
    return this.fixture.clock === undefined ? real : driven
  }

  /** A letter of this channel that failed once, at this time and with this error. */
  failedAt(at: number, error: Error, channel = 'orders'): DeadLetter {
    return this.letterAt(at, { event: this.make.event({ channel }), error })
  }

  async send(...letters: readonly DeadLetter[]): Promise<void> {
    for (const letter of letters) await this.store.deadLetters.send(letter)
  }

  /** The store of another process, or this store if only one process can open the data. */
  async openSecond(): Promise<Store> {
    if (this.fixture.openSecond === undefined) return this.store
    this.#other ??= await this.fixture.openSecond()
    return this.#other
  }

  override async close(): Promise<void> {
    await this.#other?.close()
    await super.close()
  }
}

export function inStoreWorld({ test, setup }: StoreConformance, skipBecause?: string): TestIn<StoreWorld> {
  return testsIn(test, async () => new StoreWorld(await setup({})), skipBecause)
}

export function inDurableStoreWorld(suite: StoreConformance): TestIn<StoreWorld> {
  return inStoreWorld(suite, unlessDeclared(suite.declares, 'durable'))
}

/** Defines tests of a store with a fleet. */
export function inFleetWorld(suite: StoreConformance, also?: 'durable'): TestIn<StoreWorld> {
  const lacks = unlessDeclared(suite.declares, 'fleet')
  return inStoreWorld(suite, lacks ?? (also === undefined ? undefined : unlessDeclared(suite.declares, also)))
}

/** Defines tests that need nothing but the store. */
export function onStore(suite: StoreConformance): TestIn<Store> {
  const define = inStoreWorld(suite)
  return (name, run) => define(name, ({ store }) => run(store))
}
