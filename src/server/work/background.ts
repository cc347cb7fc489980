import { type Clock, within } from '../../ports/clock.ts'
import type { ReplayRunner } from './replay-runner.ts'

/** A broker or store that does not answer keeps the server no longer than this; what was begun is taken up elsewhere. */
const PATIENCE_MS = 5_000

/** What the server does beside answering: started once, when it is first needed, and ended once. */
export class Background {
  readonly #runner: ReplayRunner
  readonly #clock: Clock
  readonly #startSchedules: () => () => Promise<void>
  #endSchedules: (() => Promise<void>) | undefined
  #isOver = false

  constructor(runner: ReplayRunner, clock: Clock, startSchedules: () => () => Promise<void>) {
    this.#runner = runner
    this.#clock = clock
    this.#startSchedules = startSchedules
  }

  start(): void {
    if (this.#isOver || this.#endSchedules !== undefined) return
    this.#endSchedules = this.#startSchedules()
    this.#runner.awake()
  }

  async close(): Promise<void> {
    this.#isOver = true
    await within(this.#clock, PATIENCE_MS, Promise.all([this.#runner.close(), this.#endSchedules?.()]))
  }
}
