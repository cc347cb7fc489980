import { createIdSource } from '../../core/event/uuid.ts'
import { type Clock, nextTurn, systemClock, systemRandom } from '../../ports/clock.ts'
import { createFactory, type Factory } from '../factories.ts'

/** How a suite defines its tests: `it` of vitest and `test` of node:test both fit. */
export interface TestFunction {
  (name: string, run: () => Promise<void>): unknown
  skip(name: string, run: () => Promise<void>): unknown
}

/** A clock that the suite may drive; FakeClock is one. */
export interface DrivenClock extends Clock {
  advance(ms: number): Promise<void>
}

/** How a conformance suite measures time. */
export interface Timing {
  /** Given to the adapter as its clock. Without it the adapter runs on real time, and so does the suite. */
  readonly clock?: DrivenClock | undefined
  /** Real time that something which must happen may take [10 s]. */
  readonly timeoutMs?: number | undefined
  /** Real time in which something that must not happen would [0 with a driven clock, 100 ms without]. */
  readonly quietMs?: number | undefined
}

const DEFAULT_TIMEOUT_MS = 10_000
const DEFAULT_QUIET_MS = 100
/** Turns of the event loop in which an adapter without real I/O has done what it was asked. */
const TURNS = 5
const POLL_MS = 2

/** Waiting for an adapter, whether its time is driven or real. Nothing here waits longer than it has to. */
export class TestTiming {
  readonly #driven: DrivenClock | undefined
  readonly #timeoutMs: number
  readonly #quietMs: number

  constructor({ clock, timeoutMs = DEFAULT_TIMEOUT_MS, quietMs }: Timing) {
    this.#driven = clock
    this.#timeoutMs = timeoutMs
    this.#quietMs = quietMs ?? (clock === undefined ? DEFAULT_QUIET_MS : 0)
  }

  /** The adapter's time. */
  now(): number {
    return (this.#driven ?? systemClock).now()
  }

  /** A time that is long for the adapter and bearable for a person who waits for the tests. */
  get delayMs(): number {
    return this.#driven === undefined ? 300 : 60_000
  }

  /** Lets time pass. */
  async pass(ms: number): Promise<void> {
    if (this.#driven === undefined) await pause(ms)
    else await this.#driven.advance(ms)
  }

  /** Gives what must not happen the chance to happen, without letting driven time pass. */
  async quiet(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) await this.#turn()
    if (this.#quietMs > 0) await pause(this.#quietMs)
  }

  /**
   * Waits until it is so, or rejects. Driven time stands still at first and then passes in growing steps, because an
   * adapter may poll by its clock.
   */
  async eventually(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
    const startedAt = systemClock.now()
    let stepMs = 0
    for (let poll = 0; !(await isSo()); poll++) {
      if (systemClock.now() - startedAt > this.#timeoutMs) {
        throw new Error(`${what}: did not happen within ${this.#timeoutMs} ms`)
      }
      if (poll < TURNS) await this.#turn()
      else {
        await pause(POLL_MS)
        await this.#driven?.advance(stepMs)
        stepMs = Math.min(1_000, stepMs * 2 + 1)
      }
    }
  }

  async #turn(): Promise<void> {
    await nextTurn()
    await this.#driven?.advance(0)
  }
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => systemClock.schedule(ms, () => resolve()))
}

const newName = createIdSource(systemRandom)

/** Never used before, so that tests on one server do not meet. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${newName(systemClock.now())}`
}

/** Events and letters with new ids, timed by the adapter's clock. */
export function freshFactory(timing: TestTiming): Factory {
  return createFactory({ clock: timing, random: systemRandom })
}

/** Defines a test, or a skipped one whose name says why. */
export function testUnless(test: TestFunction, why: string | undefined) {
  return (name: string, run: () => Promise<void>): void => {
    if (why === undefined) test(name, run)
    else test.skip(`${name} (skipped: ${why})`, run)
  }
}
