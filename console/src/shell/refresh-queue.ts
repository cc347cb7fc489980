import { after, now } from '../lib/browser-clock.ts'

const BROWSER_CLOCK = { after, now }

/** However fast things change, the server is asked no more often than this. */
const SHORTEST_MS = 1_500
/** A server that answers slowly is asked more seldom: it spends at most a third of its time on one console. */
const REST_PER_WORK = 2

/** Gathers what has changed and hands it over round by round; a round begins only when the one before is over. */
export class RefreshQueue {
  readonly #run: (topics: ReadonlySet<string>) => Promise<void>
  #topics = new Set<string>()
  #isBusy = false
  readonly #clock: typeof BROWSER_CLOCK
  #cancel: (() => void) | undefined

  constructor(run: (topics: ReadonlySet<string>) => Promise<void>, clock = BROWSER_CLOCK) {
    this.#run = run
    this.#clock = clock
  }

  add(topics: readonly string[]): void {
    for (const topic of topics) this.#topics.add(topic)
    if (!this.#isBusy) this.#cancel ??= this.#clock.after(SHORTEST_MS, () => void this.#round())
  }

  stop(): void {
    this.#cancel?.()
    this.#topics.clear()
  }

  async #round(): Promise<void> {
    const topics = this.#topics
    this.#topics = new Set()
    this.#isBusy = true
    const startedAt = this.#clock.now()
    await this.#run(topics).catch(() => {})
    this.#isBusy = false
    const restMs = Math.max(SHORTEST_MS, (this.#clock.now() - startedAt) * REST_PER_WORK)
    this.#cancel = this.#topics.size === 0 ? undefined : this.#clock.after(restMs, () => void this.#round())
  }
}
