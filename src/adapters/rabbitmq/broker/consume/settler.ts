import type { DeadLetter } from '../../../../core/dead-letter/letter.ts'
import { quarantines } from '../../../../core/dead-letter/reason.ts'
import type { StallPlace } from '../../../../ports/broker.ts'
import { about, monotonicNow, rest } from '../../../../ports/clock.ts'
import { NoAnswer } from '../../connection/confirms.ts'
import type { Publisher } from '../../connection/publisher.ts'
import { ExchangeMissingError, QueueFullError, UnroutableError } from '../../errors.ts'
import type { RabbitmqSettings, Route } from '../../options.ts'
import { deadLetterExchange, quarantineKey, retryQueue, suspectsQueue } from '../topology/names.ts'
import { IN_PROCESS_REST_MS, nextStep } from '../topology/steps.ts'
import type { Topology } from '../topology/topology.ts'
import { letterProperties } from '../wire/letter.ts'
import { type Past, readWaitMs, type Wait, withPast } from '../wire/state.ts'
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
  putBack(delivery: RabbitmqDelivery, queue: string, waitMs: number): Promise<boolean> {
    const { clock, retryStepsMs } = this.#settings
    const dueAt = monotonicNow(clock) + waitMs
    let isFull = false
    return this.persist(delivery, 'settlements', async () => {
      const remainingMs = Math.ceil(dueAt - monotonicNow(clock))
      const notBefore = clock.now() + remainingMs
      if (remainingMs <= IN_PROCESS_REST_MS && !isFull) {
        try {
          const later = remainingMs > 0 ? { waitMs: remainingMs, notBefore } : undefined
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
        // The server counts the step; the rest of the wait begins when the message is back.
        const wait = { waitMs: Math.max(0, remainingMs - stepMs), notBefore }
        await this.#send(delivery, delivery.past, toQueue(retryQueue(queue, stepMs)), wait)
      } catch (error) {
        if ((error as Error).cause instanceof NoAnswer)
          this.#silent.set(retryQueue(queue, stepMs), clock.now() + SILENT_MS)
        throw error
      }
    })
  }

  /** To those that are handled alone. */
  suspect(delivery: RabbitmqDelivery, queue: string, past: Past): Promise<boolean> {
    const { clock } = this.#settings
    const waitMs = readWaitMs(delivery.message.properties.headers ?? {}, clock.now())
    return this.persist(delivery, 'settlements', () => {
      const wait = waitMs > 0 ? { waitMs, notBefore: clock.now() + waitMs } : undefined
      return this.#send(delivery, past, toQueue(suspectsQueue(queue)), wait)
    })
  }

  keepLetter(delivery: RabbitmqDelivery, queue: string, letter: DeadLetter): Promise<boolean> {
    const { reason, category } = letter.cycle
    const { message, content, origin } = delivery
    // The letter tells of its attempts itself.
    const past = { ...delivery.past, history: [], isSuspected: false }
    return this.persist(delivery, 'letters', async () => {
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
    wait: Wait | undefined,
  ): Promise<void> {
    const properties = withPast(message, origin, past, wait)
    return this.#publisher.sendOne({ route, content: message.content, properties })
  }

  /** Tries for as long as the delivery is ours; false when it is not any more, and will be handed over again. */
  async persist(delivery: RabbitmqDelivery, place: StallPlace, work: () => Promise<void>): Promise<boolean> {
    const { session, stalls } = delivery
    const { clock, random } = this.#settings
    let tries = 0
    for (let restMs = FIRST_REST_MS; session.isOpen; restMs = Math.min(LONGEST_REST_MS, restMs * 2)) {
      try {
        await work()
        if (tries > 0) stalls.recovered(place)
        return session.isOpen
      } catch (error) {
        // Once is nothing: a channel that closed takes down what others send on it.
        if (++tries > 1) stalls.stalled(place, delivery, error as Error)
        await this.#restore(error)
        // Not all at once again: one that the server refuses takes those beside it down with its channel.
        await rest(clock, about(random, restMs))
      }
    }
    stalls.gaveUp(place, delivery)
    return false
  }

  /** A queue or an exchange that was deleted is declared again, if declaring is ours to do. */
  async #restore(error: unknown): Promise<void> {
    if (!(error instanceof UnroutableError || error instanceof ExchangeMissingError)) return
    await this.#topology.restore().catch(() => {})
  }
}

function toQueue(queue: string): Route {
  return { exchange: '', routingKey: queue }
}
