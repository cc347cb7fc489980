import type { ReplayRunner } from './replay-runner.ts'

/** What the server does beside answering: started once, when it is first needed, and ended once. */
export class Background {
  readonly #runner: ReplayRunner
  readonly #startSchedules: () => () => Promise<void>
  #endSchedules: (() => Promise<void>) | undefined
  #isOver = false

  constructor(runner: ReplayRunner, startSchedules: () => () => Promise<void>) {
    this.#runner = runner
    this.#startSchedules = startSchedules
  }

  start(): void {
    if (this.#isOver || this.#endSchedules !== undefined) return
    this.#endSchedules = this.#startSchedules()
    this.#runner.awake()
  }

  async close(): Promise<void> {
    this.#isOver = true
    await Promise.all([this.#runner.close(), this.#endSchedules?.()])
  }
}
