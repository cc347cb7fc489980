import type { StandardSchema } from '../ports/schema.ts'
import type { Breaker } from '../runtime/breaker.ts'
import type { Consumer } from '../runtime/consumer/consumer.ts'
import type { ConsumerHealth } from '../runtime/consumer/health.ts'

/**
 * A consumer whose code changes while it runs, as in a rolling release: the old consumer pauses, the new one starts, and
 * the old one finishes its deliveries. Callers see one and the same consumer.
 */
export class RollingDeployment<R extends string> implements Consumer {
  readonly breaker: Breaker | undefined
  readonly brokerName: string
  readonly schema: StandardSchema | undefined
  readonly #make: (release: R) => Consumer
  #release: R
  #current: Consumer
  #isPaused = false
  #changing: Promise<void> = Promise.resolve()

  constructor(release: R, breaker: Breaker, make: (release: R, breaker: Breaker) => Consumer) {
    this.breaker = breaker
    this.#make = which => make(which, breaker)
    this.#release = release
    this.#current = this.#make(release)
    this.brokerName = this.#current.brokerName
    this.schema = this.#current.schema
  }

  get isClosed(): boolean {
    return this.#current.isClosed
  }

  get release(): R {
    return this.#release
  }

  /** Deploys a release after the deployments before it. */
  deploy(release: R): Promise<void> {
    const change = this.#changing.then(() => this.#replace(release))
    this.#changing = change.catch(() => {})
    return change
  }

  async #replace(release: R): Promise<void> {
    if (release === this.#release) return
    const old = this.#current
    const next = this.#make(release)
    old.pause()
    if (this.#isPaused) next.pause()
    try {
      await next.start()
    } catch (error) {
      if (!this.#isPaused) old.resume()
      throw error
    }
    this.#current = next
    this.#release = release
    await old.close()
  }

  publish(...of: Parameters<Consumer['publish']>): Promise<void> {
    return this.#current.publish(...of)
  }

  deadLetterDepths(): ReturnType<Consumer['deadLetterDepths']> {
    return this.#current.deadLetterDepths()
  }

  lag(): ReturnType<Consumer['lag']> {
    return this.#current.lag()
  }

  start(): Promise<void> {
    return this.#current.start()
  }

  pause(): void {
    this.#isPaused = true
    this.#current.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#current.resume()
  }

  async close(options?: { readonly graceMs?: number | undefined }): Promise<void> {
    await this.#changing
    await this.#current.close(options)
  }

  health(): ConsumerHealth {
    return this.#current.health()
  }
}
