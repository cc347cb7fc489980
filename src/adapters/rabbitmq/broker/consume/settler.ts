import { persist } from '../../../../adapter-kit/delivery/persist.ts'
import type { DeadLetter } from '../../../../core/dead-letter/letter.ts'
import { quarantines } from '../../../../core/dead-letter/reason.ts'
import type { StalledPart } from '../../../../ports/broker.ts'
import { monotonicNow } from '../../../../ports/clock.ts'
import type { AmqpMessage, AmqpProperties } from '../../connection/amqp.ts'
import { AnswerTimeoutError } from '../../connection/confirms.ts'
import type { Publisher } from '../../connection/publisher.ts'
import { ExchangeMissingError, QueueFullError, UnroutableError } from '../../errors.ts'
import type { RabbitmqSettings } from '../../options.ts'
import {
  categoryKey,
  deadLetterExchange,
  heldQueue,
  IN_PROCESS_WAIT_MS,
  nextStep,
  ownerQueue,
  quarantineKey,
  retryQueue,
  suspectsQueue,
} from '../topology/names.ts'
import type { Topology } from '../topology/topology.ts'
import { OWN } from '../wire/headers.ts'
import { letterProperties } from '../wire/letter.ts'
import { type MessageLog, readWaitMs, type Wait, withLog } from '../wire/message-log.ts'
import type { RabbitmqDelivery } from './delivery.ts'

const MAX_BACKOFF_MS = 5_000
/** The time for which a step without an answer is skipped. */
const SILENT_MS = 60_000
const EMPTY = Buffer.alloc(0)

/**
 * Makes settlements durable: the message is published to its next place and confirmed. Acknowledging is left to the
 * caller, and comes after: the gap between the two is a duplicate, never a loss.
 *
 * Every method that answers a boolean tries for as long as the delivery is ours. It answers false when the delivery is
 * not ours any more, and will be delivered again.
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

  /** Publishes the message to the queue of a retry step, or back to the end of its own queue if the wait is over. */
  putBack(delivery: RabbitmqDelivery, waitMs: number): Promise<boolean> {
    const { clock, retryStepsMs } = this.#settings
    const { queue, log } = delivery
    const dueAt = monotonicNow(clock) + waitMs
    let isFull = false
    return this.#persist(delivery, 'settlements', async () => {
      const remainingMs = Math.ceil(dueAt - monotonicNow(clock))
      if (remainingMs <= IN_PROCESS_WAIT_MS && !isFull) {
        try {
          return await this.#send(delivery, log, queue, this.#wait(remainingMs))
        } catch (error) {
          // The message leaves its queue when it waits elsewhere, so that queue has room again.
          isFull = error instanceof QueueFullError
          throw error
        }
      }
      const stepMs = nextStep(this.#answering(queue, retryStepsMs), remainingMs)
      const step = retryQueue(queue, stepMs)
      try {
        await this.#topology.retryStep(queue, stepMs)
        // The server counts the step; the rest of the wait begins when the message is back.
        const wait = { waitMs: Math.max(0, remainingMs - stepMs), notBefore: clock.now() + remainingMs }
        await this.#send(delivery, log, step, wait)
      } catch (error) {
        if ((error as Error).cause instanceof AnswerTimeoutError)
          this.#silent.set(step, clock.now() + SILENT_MS)
        throw error
      }
    })
  }

  /** The message goes to those that are handled alone. */
  suspect(delivery: RabbitmqDelivery, log: MessageLog): Promise<boolean> {
    const waitMs = readWaitMs(delivery.message.properties.headers ?? {}, this.#settings.clock.now())
    const suspects = suspectsQueue(delivery.queue)
    return this.#persist(delivery, 'settlements', () =>
      this.#send(delivery, log, suspects, this.#wait(waitMs)),
    )
  }

  /** Sends the letter to the dead-letter queue, to that of its category, or to quarantine. It contains its attempts. */
  keepLetter(delivery: RabbitmqDelivery, letter: DeadLetter): Promise<boolean> {
    const { message, content, origin, queue } = delivery
    const log = { ...delivery.log, history: [], isSuspected: false }
    return this.#persist(delivery, 'letters', async () => {
      const routingKey = await this.#letterKey(queue, letter)
      await this.#publisher.sendOne({
        route: { exchange: deadLetterExchange(queue), routingKey },
        content: message.content,
        properties: letterProperties(withLog(message, origin, log, undefined), content, letter),
      })
    })
  }

  /** Declares the queue of the letter, if need be. Poison stays in quarantine, however the others are sorted. */
  async #letterKey(queue: string, { cycle: { reason, category } }: DeadLetter): Promise<string> {
    if (quarantines(reason)) {
      await this.#topology.quarantine(queue, category)
      return quarantineKey(queue, category)
    }
    if (this.#settings.deadLetterQueues === 'one') return queue
    await this.#topology.lettersOf(queue, category)
    return categoryKey(queue, category)
  }

  /** Tries once, with a time limit. A shutdown cannot wait for a server to return. */
  giveBack(delivery: RabbitmqDelivery): Promise<void> {
    return this.#send(delivery, delivery.log, delivery.queue, undefined)
  }

  /** For ordered queues: the message is the first of its key and cannot be handled now. It is stored with its position. */
  hold(delivery: RabbitmqDelivery, place: number, waitMs: number): Promise<boolean> {
    const { clock } = this.#settings
    const { log } = delivery
    const dueAt = monotonicNow(clock) + waitMs
    return this.#persist(delivery, 'settlements', () => {
      const wait = this.#wait(Math.ceil(dueAt - monotonicNow(clock)))
      return this.#send(delivery, log, heldQueue(delivery.queue), wait, { [OWN.place]: place })
    })
  }

  /** For ordered queues: the event is dead and blocks its key. */
  markDead(delivery: RabbitmqDelivery, place: number, key: string): Promise<boolean> {
    const headers = { [OWN.place]: place, [OWN.key]: key, [OWN.deadEvent]: delivery.id }
    return this.#persist(delivery, 'settlements', () =>
      this.#sendTo(heldQueue(delivery.queue), EMPTY, { headers }),
    )
  }

  /** For ordered queues: a message that is held for longer than the server allows is stored again. */
  renewHeld(queue: string, { content, properties }: AmqpMessage): Promise<void> {
    return this.#sendTo(heldQueue(queue), content, properties)
  }

  /** For ordered queues: the consumer that gets the token keeps the order of the queue. */
  sendToken(queue: string): Promise<void> {
    return this.#sendTo(ownerQueue(queue), EMPTY, {})
  }

  /** A queue whose leader is lost must not hold up what could as well wait in another. */
  #answering(queue: string, steps: readonly number[]): readonly number[] {
    if (this.#silent.size === 0) return steps
    const now = this.#settings.clock.now()
    for (const [name, until] of this.#silent) if (until <= now) this.#silent.delete(name)
    const answering = steps.filter(stepMs => !this.#silent.has(retryQueue(queue, stepMs)))
    return answering.length === 0 ? steps : answering
  }

  #wait(waitMs: number): Wait | undefined {
    return waitMs > 0 ? { waitMs, notBefore: this.#settings.clock.now() + waitMs } : undefined
  }

  #send(
    { message, origin }: RabbitmqDelivery,
    log: MessageLog,
    queue: string,
    wait: Wait | undefined,
    more?: AmqpProperties['headers'],
  ): Promise<void> {
    const properties = withLog(message, origin, log, wait)
    return this.#sendTo(queue, message.content, {
      ...properties,
      headers: { ...properties.headers, ...more },
    })
  }

  #sendTo(queue: string, content: Buffer, properties: AmqpProperties): Promise<void> {
    const route = { exchange: '', routingKey: queue }
    return this.#publisher.sendOne({ route, content, properties: { ...properties, deliveryMode: 2 } })
  }

  #persist(delivery: RabbitmqDelivery, part: StalledPart, work: () => Promise<void>): Promise<boolean> {
    const { amqpChannel, stalls } = delivery
    const { clock, random } = this.#settings
    return persist(
      {
        clock,
        random,
        stalls,
        part,
        maxBackoffMs: MAX_BACKOFF_MS,
        // A single failure is not reported: a channel that closes also fails the messages of others.
        quietFailures: 1,
        isOurs: () => amqpChannel.isOpen,
        repair: error => this.#declareAgain(error),
      },
      work,
    )
  }

  /** A queue or an exchange that was deleted is declared again, if declaring is ours to do. */
  async #declareAgain(error: unknown): Promise<void> {
    if (error instanceof UnroutableError || error instanceof ExchangeMissingError)
      await this.#topology.restore().catch(() => {})
  }
}
