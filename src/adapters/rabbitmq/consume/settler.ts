import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { quarantines } from '../../../core/dead-letter/reason.ts'
import { about, rest } from '../../../ports/waiting.ts'
import { QueueFullError, UnroutableError } from '../errors.ts'
import { NoAnswer } from '../link/confirms.ts'
import type { Publisher } from '../link/publisher.ts'
import type { RabbitmqSettings, Route } from '../options.ts'
import { deadLetterExchange, quarantineKey, retryQueue, suspectsQueue } from '../topology/names.ts'
import { IN_PROCESS_REST_MS, nextStep } from '../topology/steps.ts'
import type { Topology } from '../topology/topology.ts'
import { letterProperties } from '../wire/letter.ts'
import { type Past, readNotBefore, withPast } from '../wire/state.ts'
import type { RabbitmqDelivery } from './delivery.ts'

const FIRST_REST_MS = 100
const LONGEST_REST_MS = 5_000
/** How long a step that did not answer is left out. */
const SILENT_MS = 60_000

/**
 * Makes settlements durable: the message is published to its next place and confirmed. Acknowledging is left to the
 * caller, and comes after: the gap between the two is a duplicate, never a loss.
 */
export class Settler {
  readonly #publisher: Publisher
  readonly #topology: Topology
  readonly #settings: RabbitmqSettings
  /** Queues of steps that did not answer, and until when they are left out. */
  readonly #silent = new Map<string, number>()

  constructor(publisher: Publisher, topology: Topology, settings: RabbitmqSettings) {
    this.#publisher = publisher
    this.#topology = topology
    this.#settings = settings
  }

  /** Waits in the queue of a step, or goes to the end of the queue when its time has come. */
  putBack(delivery: RabbitmqDelivery, queue: string, notBefore: number): Promise<boolean> {
    const { clock, retryStepsMs } = this.#settings
    let isFull = false
    return this.persist(delivery, async () => {
      const remainingMs = notBefore - clock.now()
      if (remainingMs <= IN_PROCESS_REST_MS && !isFull) {
        try {
          const later = remainingMs > 0 ? notBefore : undefined
          return await this.#send(delivery, delivery.past, toQueue(queue), later)
        } catch (error) {
          // Its own place in the queue is free once it waits elsewhere.
          isFull = error instanceof QueueFullError
          throw error
        }
      }
      const stepMs = nextStep(this.#answering(queue, retryStepsMs), remainingMs)
      try {
        await this.#topology.retryStep(queue, stepMs)
        await this.#send(delivery, delivery.past, toQueue(retryQueue(queue, stepMs)), notBefore)
      } catch (error) {
        if ((error as Error).cause instanceof NoAnswer)
          this.#silent.set(retryQueue(queue, stepMs), clock.now() + SILENT_MS)
        throw error
      }
    })
  }

  /** To those that are handled alone. */
  suspect(delivery: RabbitmqDelivery, queue: string, past: Past): Promise<boolean> {
    const notBefore = readNotBefore(delivery.message.properties.headers ?? {})
    return this.persist(delivery, () =>
      this.#send(delivery, past, toQueue(suspectsQueue(queue)), notBefore > 0 ? notBefore : undefined),
    )
  }

  keepLetter(delivery: RabbitmqDelivery, queue: string, letter: DeadLetter): Promise<boolean> {
    const { reason, category } = letter.cycle
    const { message, content, origin } = delivery
    // The letter tells of its attempts itself.
    const past = { ...delivery.past, history: [], isSuspected: false }
    return this.persist(delivery, async () => {
      const isPoison = quarantines(reason)
      if (isPoison) await this.#topology.quarantine(queue, category)
      const routingKey = isPoison ? quarantineKey(queue, category) : queue
      await this.#publisher.sendOne({
        route: { exchange: deadLetterExchange(queue), routingKey },
        content: message.content,
        properties: letterProperties(withPast(message, origin, past, undefined), content, letter),
      })
    })
  }

  /** Once, within a time: for a shutdown, which cannot wait for a server to come back. */
  giveBack(delivery: RabbitmqDelivery, queue: string): Promise<void> {
    return this.#send(delivery, delivery.past, toQueue(queue), undefined)
  }

  /** A queue whose leader is lost must not hold up what could as well wait in another. */
  #answering(queue: string, steps: readonly number[]): readonly number[] {
    if (this.#silent.size === 0) return steps
    const now = this.#settings.clock.now()
    for (const [name, until] of this.#silent) if (until <= now) this.#silent.delete(name)
    const answering = steps.filter(stepMs => !this.#silent.has(retryQueue(queue, stepMs)))
    return answering.length === 0 ? steps : answering
  }

  #send(
    { message, origin }: RabbitmqDelivery,
    past: Past,
    route: Route,
    notBefore: number | undefined,
  ): Promise<void> {
    const properties = withPast(message, origin, past, notBefore)
    return this.#publisher.sendOne({ route, content: message.content, properties })
  }

  /** Tries for as long as the delivery is ours; false when it is not any more, and will be handed over again. */
  async persist({ session }: RabbitmqDelivery, work: () => Promise<void>): Promise<boolean> {
    const { clock, random } = this.#settings
    for (let restMs = FIRST_REST_MS; session.isOpen; restMs = Math.min(LONGEST_REST_MS, restMs * 2)) {
      try {
        await work()
        return session.isOpen
      } catch (error) {
        if (error instanceof UnroutableError) this.#topology.forget()
        // Not all at once again: one that the server refuses takes those beside it down with its channel.
        await rest(clock, about(random, restMs))
      }
    }
    return false
  }
}

function toQueue(queue: string): Route {
  return { exchange: '', routingKey: queue }
}
