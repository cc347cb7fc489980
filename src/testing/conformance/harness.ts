import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { createIdSource } from '../../core/event/uuid.ts'
import { type Clock, delay, systemClock, systemRandom, yieldToEventLoop } from '../../ports/clock.ts'
import { createFactory, type Factory, type TestLetterInput } from '../factories.ts'

/** The function with which a suite defines its tests: `it` of vitest and `test` of node:test both fit. */
export interface TestFunction {
  (name: string, run: () => Promise<void>): unknown
  skip(name: string, run: () => Promise<void>): unknown
}

/** A clock that the suite can drive, such as FakeClock. */
export interface DrivenClock extends Clock {
  advance(ms: number): Promise<void>
  /** Sets the clock forward or back without the passing of time. Tests that need it run only on a clock that has it. */
  jump?(ms: number): void
}

/** How a conformance suite measures time. */
export interface Timing {
  /** The clock of the adapter. Without it the adapter and the suite run on real time. */
  readonly clock?: DrivenClock | undefined
  /** The real time within which an expected event must happen [1 min]. */
  readonly timeoutMs?: number | undefined
  /** The real time that the suite waits for a forbidden event [0 with a driven clock, 100 ms without]. */
  readonly quietMs?: number | undefined
}

const DEFAULT_TIMEOUT_MS = 60_000
const DEFAULT_QUIET_MS = 100
/** The turns of the event loop within which an adapter without real I/O finishes its work. */
const TURNS = 5
const POLL_MS = 2
/** A long wait looks less often, or looking takes the processor from what is awaited. It ends at most a fiftieth later. */
const POLLS_PER_WAIT = 50
const MAX_POLL_MS = 50
const MOST_DELAYS = 64

/** Waits for an adapter on driven or real time, and never longer than necessary. */
export class TestTiming {
  readonly #driven: DrivenClock | undefined
  readonly #timeoutMs: number
  readonly #quietMs: number

  constructor({ clock, timeoutMs = DEFAULT_TIMEOUT_MS, quietMs }: Timing) {
    this.#driven = clock
    this.#timeoutMs = timeoutMs
    this.#quietMs = quietMs ?? (clock === undefined ? DEFAULT_QUIET_MS : 0)
  }

  /** The time of the adapter. */
  now(): number {
    return (this.#driven ?? systemClock).now()
  }

  /** A delay that is long for the adapter and short enough for a test run. */
  get delayMs(): number {
    return this.#driven === undefined ? 300 : 60_000
  }

  /**
   * Runs a case that must act before a delay is over, and returns true if it did. On a machine that stands still for so long it
   * is run again, with a longer delay.
   */
  async untilInTime(isInTime: (delayMs: number) => Promise<boolean>, what: string): Promise<void> {
    for (let times = 1; times <= MOST_DELAYS; times *= 4) if (await isInTime(this.delayMs * times)) return
    throw new Error(`${what}: not within ${this.delayMs * MOST_DELAYS} ms`)
  }

  /** Lets time pass. */
  async pass(ms: number): Promise<void> {
    if (this.#driven === undefined) await delay(systemClock, ms)
    else await this.#driven.advance(ms)
  }

  /** Gives a forbidden event the chance to happen. Driven time does not pass. */
  async quiet(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) await this.#turn()
    if (this.#quietMs > 0) await delay(systemClock, this.#quietMs)
  }

  /**
   * Waits until the condition holds, or rejects. Driven time stands still at first and then passes in growing steps,
   * because an adapter may poll by its clock.
   */
  async eventually(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
    const startedAt = systemClock.now()
    let stepMs = 0
    for (let poll = 0; !(await isSo()); poll++) {
      const waitedMs = systemClock.now() - startedAt
      if (waitedMs > this.#timeoutMs) {
        throw new Error(`${what}: did not happen within ${this.#timeoutMs} ms`)
      }
      if (poll < TURNS) await this.#turn()
      else if (this.#driven === undefined) {
        await delay(systemClock, Math.min(MAX_POLL_MS, Math.max(POLL_MS, waitedMs / POLLS_PER_WAIT)))
      } else {
        await delay(systemClock, POLL_MS)
        await this.#driven.advance(stepMs)
        stepMs = Math.min(1_000, stepMs * 2 + 1)
      }
    }
  }

  async #turn(): Promise<void> {
    await yieldToEventLoop()
    await this.#driven?.advance(0)
  }
}

const newName = createIdSource(systemRandom)

/** A new name, so that tests on one server do not share data. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${newName(systemClock.now())}`
}

/** The optional parts of every fixture. */
export interface Fixture<P> extends Timing {
  /** Opens another adapter on the same data, after the first was closed. Durable adapters need it. */
  reopen?(): Promise<P>
  cleanup?(): Promise<void>
}

/** One test's view of an adapter: the adapter, its time, and names that no other test uses. */
export class World<P extends { close?(): unknown }, F extends Fixture<P>> {
  readonly channel = uniqueName('conformance')
  readonly timing: TestTiming
  /** Events and letters with new ids, timed by the adapter's clock. */
  readonly make: Factory
  readonly fixture: F
  /** The adapter under test. */
  port: P

  constructor(fixture: F, port: P) {
    this.fixture = fixture
    this.port = port
    this.timing = new TestTiming(fixture)
    this.make = createFactory({ clock: this.timing, random: systemRandom })
  }

  /** A letter of an event that failed once, at this time. */
  letterAt(at: number, input: TestLetterInput = {}): DeadLetter {
    const attempts = [this.make.attempt(1, { startedAt: at, endedAt: at })]
    return this.make.letter({ at, attempts, ...input })
  }

  /** Closes the adapter and opens another on the same data, as a process that restarts does. */
  async reopen(): Promise<P> {
    await this.port.close?.()
    if (this.fixture.reopen === undefined) throw new Error('a durable adapter needs `reopen` in its fixture')
    this.port = await this.fixture.reopen()
    return this.port
  }

  async close(): Promise<void> {
    await this.port.close?.()
    await this.fixture.cleanup?.()
  }
}

/** Defines a test that runs in a world of its own. */
export type TestIn<W> = (name: string, run: (world: W) => Promise<void>) => void

/** Opens a world for each test and closes it in any case. A test that is skipped says why in its name. */
export function testsIn<W extends { close(): Promise<void> }>(
  test: TestFunction,
  open: () => Promise<W>,
  skipBecause?: string,
): TestIn<W> {
  return (name, run) => {
    const runInWorld = async () => {
      const world = await open()
      try {
        await run(world)
      } finally {
        await world.close()
      }
    }
    if (skipBecause === undefined) test(name, runInWorld)
    else test.skip(`${name} (skipped: ${skipBecause})`, runInWorld)
  }
}

/** Why a test is skipped that needs a capability: undefined if the adapter declares it. */
export function unlessDeclared<D extends object>(
  declares: D,
  ...capabilities: readonly (keyof D & string)[]
): string | undefined {
  const missing = capabilities.find(name => !declares[name])
  return missing && `declares ${missing}: false`
}

/** For comparing events or letters in any order. */
export function sortedIds(items: readonly { readonly id: string }[]): string[] {
  return items.map(({ id }) => id).sort()
}

const MOST_PAGES = 1_000

/** Reads every page of a listing, and does something between them. */
export async function readPages<T extends { readonly cursor: string | undefined }>(
  list: (cursor: string | undefined) => Promise<T>,
  between?: (page: number) => Promise<void>,
): Promise<T[]> {
  const pages: T[] = []
  for (let cursor: string | undefined; pages.length < MOST_PAGES; ) {
    const page = await list(cursor)
    pages.push(page)
    if (page.cursor === undefined) return pages
    cursor = page.cursor
    await between?.(pages.length)
  }
  throw new Error('paging does not come to an end')
}
