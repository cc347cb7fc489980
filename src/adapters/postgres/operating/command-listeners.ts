import type { Cancel } from '../../../ports/clock.ts'
import type { ListenConnection } from '../connection/listen-connection.ts'
import { instancesIn } from '../connection/notifier.ts'
import { canKeepConnection, requireAnother } from '../connection/pool.ts'
import type { PostgresSettings } from '../options.ts'
import { COMMANDS_CHANNEL } from '../schema/functions.ts'

/**
 * The listeners of commands in this process. They share one connection, with the consumers too, while there is a listener.
 * LISTEN is repeated from time to time, which also replaces a connection that broke. A pool that cannot spare a connection
 * leaves everything to polling.
 */
export class CommandListeners {
  readonly #settings: PostgresSettings
  readonly #connection: ListenConnection
  readonly #listeners = new Map<() => void, string>()
  #cancel: Cancel | undefined
  #hasAnother = false
  #stopping: Promise<void> | undefined

  constructor(settings: PostgresSettings, connection: ListenConnection) {
    this.#settings = settings
    this.#connection = connection
  }

  add(instance: string, listener: () => void): () => void {
    const own = () => listener()
    this.#listeners.set(own, instance)
    const { listen, pool } = this.#settings
    if (this.#cancel === undefined && listen && canKeepConnection(pool)) this.#listen()
    return () => {
      if (this.#listeners.delete(own) && this.#listeners.size === 0) this.#stop()
    }
  }

  /** Calls the listeners of these instances. */
  wake(instances: Iterable<string>): void {
    const woken = new Set(instances)
    for (const [listener, instance] of this.#listeners) if (woken.has(instance)) this.#call(listener)
  }

  async close(): Promise<void> {
    this.#listeners.clear()
    this.#stop()
    await this.#stopping
  }

  #call(listener: () => void): void {
    try {
      listener()
    } catch (error) {
      this.#settings.onError(error)
    }
  }

  #listen(): void {
    const { clock, leaseMs, onError } = this.#settings
    this.#cancel = clock.schedule(leaseMs / 3, () => this.#listen())
    this.#start().catch(onError)
  }

  async #start(): Promise<void> {
    await this.#connection.start(COMMANDS_CHANNEL, payload => this.wake(instancesIn(payload)))
    if (this.#hasAnother) return
    const { pool, name, clock } = this.#settings
    try {
      await requireAnother(pool, name, clock)
      this.#hasAnother = true
    } catch (error) {
      this.#stop()
      throw error
    }
  }

  #stop(): void {
    if (this.#cancel === undefined) return
    this.#cancel()
    this.#cancel = undefined
    this.#stopping = this.#connection.stop(COMMANDS_CHANNEL)
  }
}
