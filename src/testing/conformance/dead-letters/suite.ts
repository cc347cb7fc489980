import assert from 'node:assert/strict'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { DeadLetterStore, LetterQuery } from '../../../ports/dead-letters.ts'
import { type Fixture, type TestFunction, type TestIn, testsIn, World } from '../harness.ts'

const MOST_PAGES = 1_000

/** What an adapter gives the suite for each test: an empty store of its own. */
export interface DeadLetterStoreFixture extends Fixture<DeadLetterStore> {
  readonly store: DeadLetterStore
}

/** What `deadLetterStoreConformance()` needs to test a store. */
export interface DeadLetterStoreConformance {
  readonly test: TestFunction
  /** A fresh, empty store for every test; with `capacity`, one that takes so many letters. */
  readonly setup: (options: { readonly capacity?: number }) => Promise<DeadLetterStoreFixture>
  readonly declares: {
    /** Letters survive the end of the process; the fixture has `reopen`. */
    readonly durable: boolean
    /** The store can be given a capacity. */
    readonly bounded: boolean
  }
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

  /** Every page, one after the other, and what happens between them. */
  async pages(query: LetterQuery, between?: (page: number) => Promise<void>): Promise<DeadLetter[][]> {
    const pages: DeadLetter[][] = []
    for (let cursor: string | undefined; ; ) {
      const page = await this.store.list({ ...query, cursor })
      pages.push([...page.letters])
      if (page.cursor === undefined) return pages
      assert(pages.length < MOST_PAGES, 'paging comes to an end')
      cursor = page.cursor
      await between?.(pages.length)
    }
  }
}

export function inLetterWorld(
  { test, setup }: DeadLetterStoreConformance,
  { skipBecause, ...options }: { readonly capacity?: number; readonly skipBecause?: string | undefined } = {},
): TestIn<LetterWorld> {
  return testsIn(test, async () => new LetterWorld(await setup(options)), skipBecause)
}

/** For comparing letters whatever their order. */
export function idsOf(letters: readonly DeadLetter[]): string[] {
  return letters.map(letter => letter.id).sort()
}
