import assert from 'node:assert/strict'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { DeadLetterStore, LetterQuery } from '../../../ports/dead-letters.ts'
import type { Factory } from '../../factories.ts'
import {
  freshFactory,
  type TestFunction,
  TestTiming,
  type Timing,
  testUnless,
  uniqueName,
} from '../harness.ts'

const MOST_PAGES = 1_000

/** What an adapter gives the suite for each test: an empty store of its own. */
export interface DeadLetterStoreFixture extends Timing {
  readonly store: DeadLetterStore
  /** Opens another store on the same data, after the first was closed. */
  reopen?(): Promise<DeadLetterStore>
  cleanup?(): Promise<void>
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

export class LetterWorld {
  readonly make: Factory
  readonly channel = uniqueName('conformance')
  readonly timing: TestTiming
  readonly fixture: DeadLetterStoreFixture
  store: DeadLetterStore

  constructor(fixture: DeadLetterStoreFixture) {
    this.fixture = fixture
    this.store = fixture.store
    this.timing = new TestTiming(fixture)
    this.make = freshFactory(this.timing)
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

type InLetterWorld = (name: string, run: (world: LetterWorld) => Promise<void>) => void

export function inLetterWorld(
  { test, setup }: DeadLetterStoreConformance,
  options: { readonly capacity?: number; readonly skipBecause?: string | undefined } = {},
): InLetterWorld {
  const { skipBecause, ...setUp } = options
  const define = testUnless(test, skipBecause)
  return (name, run) =>
    define(name, async () => {
      const fixture = await setup(setUp)
      const world = new LetterWorld(fixture)
      try {
        await run(world)
      } finally {
        await world.store.close()
        await fixture.cleanup?.()
      }
    })
}

/** For comparing letters whatever their order. */
export function idsOf(letters: readonly DeadLetter[]): string[] {
  return letters.map(letter => letter.id).sort()
}
