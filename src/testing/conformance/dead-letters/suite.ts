import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { Codec } from '../../../ports/codec.ts'
import type { DeadLetterStore, LetterQuery } from '../../../ports/dead-letters.ts'
import { type Fixture, readPages, type TestFunction, type TestIn, testsIn, World } from '../harness.ts'

/** What an adapter gives the suite for each test: an empty store of its own. */
export interface DeadLetterStoreFixture extends Fixture<DeadLetterStore> {
  readonly store: DeadLetterStore
}

/** What `deadLetterStoreConformance()` needs to test a store. */
export interface DeadLetterStoreConformance {
  readonly test: TestFunction
  /**
   * A new, empty store for every test; with `capacity`, a store that accepts that many letters; with `codec`, a store that
   * writes and reads letters with it.
   */
  readonly setup: (options: LetterSetup) => Promise<DeadLetterStoreFixture>
  readonly declares: {
    /** Letters survive the end of the process; the fixture has `reopen`. */
    readonly durable: boolean
    /** The store has a configurable capacity. */
    readonly bounded: boolean
    /** The store writes letters with a codec, which `setup` gets [false]. */
    readonly codec?: boolean | undefined
  }
}

interface LetterSetup {
  readonly capacity?: number
  readonly codec?: Codec
}

/** One test's view of a dead-letter store. */
export class LetterWorld extends World<DeadLetterStore, DeadLetterStoreFixture> {
  constructor(fixture: DeadLetterStoreFixture) {
    super(fixture, fixture.store)
  }

  get store(): DeadLetterStore {
    return this.port
  }

  async send(...letters: readonly DeadLetter[]): Promise<void> {
    for (const letter of letters) await this.store.send(letter)
  }

  /** Makes a letter and sends it. */
  async sendNew(): Promise<DeadLetter> {
    const letter = this.make.letter()
    await this.send(letter)
    return letter
  }

  /** Reads every page, and calls `between` between two pages. */
  async pages(query: LetterQuery, between?: (page: number) => Promise<void>): Promise<DeadLetter[][]> {
    const pages = await readPages(cursor => this.store.list({ ...query, cursor }), between)
    return pages.map(({ letters }) => [...letters])
  }
}

export function inLetterWorld(
  { test, setup }: DeadLetterStoreConformance,
  { skipBecause, ...options }: LetterSetup & { readonly skipBecause?: string | undefined } = {},
): TestIn<LetterWorld> {
  return testsIn(test, async () => new LetterWorld(await setup(options)), skipBecause)
}
