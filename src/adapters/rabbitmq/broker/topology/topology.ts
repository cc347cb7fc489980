import type { Category } from '../../../../core/failure/failure.ts'
import { settlesWithin } from '../../../../ports/clock.ts'
import { AnswerTimeoutError } from '../../connection/confirms.ts'
import type { Link } from '../../connection/link.ts'
import { RabbitmqUnreachableError } from '../../errors.ts'
import type { RabbitmqSettings } from '../../options.ts'
import { declareAll } from './declare.ts'
import { queueName } from './names.ts'
import {
  auxiliarySpecs,
  categorySpecs,
  channelExchange,
  channelSpecs,
  mainQueue,
  orderedSpecs,
  quarantineSpecs,
  retrySpec,
  type Spec,
  unblockSpec,
} from './plan.ts'

/** Declares each queue and exchange once, before its first use. */
export class Topology {
  readonly #link: Link
  readonly #settings: RabbitmqSettings
  readonly #declared = new Map<string, Promise<void>>()
  /** Exchanges that are declared. */
  readonly #ready = new Set<string>()
  /** The queues in use, which are declared again if they are deleted. */
  readonly #used = new Map<string, { readonly channel: string; readonly handler: string }>()
  #restoring: Promise<void> | undefined

  constructor(link: Link, settings: RabbitmqSettings) {
    this.#link = link
    this.#settings = settings
  }

  /** The queue of a handler, with everything that lies beside it. */
  queue(channel: string, handler: string): Promise<void> {
    const queue = queueName(channel, handler)
    this.#used.set(queue, { channel, handler })
    const auxiliary = auxiliarySpecs(queue, this.#settings)
    if (this.#settings.declare === 'auxiliary') return this.#once(queue, auxiliary)
    // A queue is declared after the exchange to which it dead-letters.
    return this.#once(queue, [
      ...auxiliary,
      mainQueue(queue, this.#settings),
      ...channelSpecs(channel, queue),
    ])
  }

  /**
   * The queue of a handler that has never subscribed. It holds messages for that handler alone, and no events of the
   * channel.
   */
  unboundQueue(channel: string, handler: string): Promise<void> {
    const queue = queueName(channel, handler)
    const auxiliary = auxiliarySpecs(queue, this.#settings)
    return this.#once(`unbound ${queue}`, [...auxiliary, mainQueue(queue, this.#settings)])
  }

  /** Publishing to an exchange that is not there closes the channel. Nothing to wait for once it is declared. */
  exchange(channel: string): Promise<void> | undefined {
    if (this.#ready.has(channel)) return undefined
    return this.#once(`exchange ${channel}`, [channelExchange(channel)]).then(() => {
      this.#ready.add(channel)
    })
  }

  order(channel: string, queue: string): Promise<void> {
    return this.#once(`order ${queue}`, orderedSpecs(channel, queue, this.#settings))
  }

  unblockExchange(channel: string): Promise<void> {
    return this.#once(`unblock ${channel}`, [unblockSpec(channel)])
  }

  retryStep(queue: string, stepMs: number): Promise<void> {
    const spec = retrySpec(queue, stepMs)
    return this.#once(spec.name, [spec])
  }

  quarantine(queue: string, category: Category): Promise<void> {
    return this.#once(`${queue} ${category}`, quarantineSpecs(queue, category, this.#settings))
  }

  lettersOf(queue: string, category: Category): Promise<void> {
    return this.#once(`${queue} letters ${category}`, categorySpecs(queue, category, this.#settings))
  }

  /** Binds the queue to its channel again, in case the exchange was deleted. An existing binding does not change. */
  async bind(channel: string, handler: string): Promise<void> {
    if (this.#settings.declare === 'all')
      await this.#declare(channelSpecs(channel, queueName(channel, handler)))
  }

  /** A queue or exchange was deleted, so everything in use is declared again. Concurrent calls share one run. */
  restore(): Promise<void> {
    this.#restoring ??= this.#declareUsed().finally(() => {
      this.#restoring = undefined
    })
    return this.#restoring
  }

  async #declareUsed(): Promise<void> {
    this.#declared.clear()
    this.#ready.clear()
    for (const { channel, handler } of this.#used.values()) await this.queue(channel, handler)
  }

  #once(name: string, specs: readonly Spec[]): Promise<void> {
    if (this.#settings.declare === 'none') return Promise.resolve()
    let declared = this.#declared.get(name)
    if (declared === undefined) {
      declared = this.#declare(specs)
      this.#declared.set(name, declared)
      declared.catch(() => this.#declared.delete(name))
    }
    return declared
  }

  /** A server that has lost the leader of a quorum queue may never answer. */
  async #declare(specs: readonly Spec[]): Promise<void> {
    const { clock, connectTimeoutMs: limitMs } = this.#settings
    const declaring = declareAll(await this.#link.get(limitMs), specs)
    if (!(await settlesWithin(clock, limitMs, declaring))) {
      const problem = `${namesOf(specs)} not declared within ${limitMs} ms`
      throw new RabbitmqUnreachableError(this.#link.server, problem, new AnswerTimeoutError(problem))
    }
    await declaring
  }
}

function namesOf(specs: readonly Spec[]): string {
  const names = specs.map(spec => (spec.kind === 'binding' ? spec.queue : spec.name))
  return [...new Set(names)].join(', ')
}
