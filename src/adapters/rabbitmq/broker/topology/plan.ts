import type { Category } from '../../../../core/failure/failure.ts'
import type { QueueOptions } from '../../connection/amqp.ts'
import type { RabbitmqSettings } from '../../options.ts'
import {
  categoryKey,
  categoryQueue,
  deadLetterExchange,
  heldQueue,
  ownerQueue,
  quarantineKey,
  quarantineQueue,
  retryQueue,
  suspectsQueue,
  unblockExchange,
} from './names.ts'

type TopologyOptions = Pick<
  RabbitmqSettings,
  | 'queueType'
  | 'retryStepsMs'
  | 'deadLetterQueue'
  | 'deadLetterQueues'
  | 'deadLetterTtlMs'
  | 'deliveryLimit'
  | 'maxLength'
  | 'deadLetterMaxLength'
>

export interface QueueSpec {
  readonly kind: 'queue'
  readonly name: string
  readonly options: QueueOptions
  /** The queue of the channel itself, in contrast to what lies beside it. */
  readonly isMain: boolean
}

export interface ExchangeSpec {
  readonly kind: 'exchange'
  readonly name: string
  readonly type: 'direct' | 'fanout'
}

interface BindingSpec {
  readonly kind: 'binding'
  readonly queue: string
  readonly exchange: string
  readonly pattern: string
}

export type Spec = QueueSpec | ExchangeSpec | BindingSpec

export const CATEGORIES: readonly Category[] = ['transient', 'schema', 'business', 'integration', 'unknown']

/** The exchange of a channel: every queue that is bound to it gets its events. Routing by type costs a quarter more. */
export function channelSpecs(channel: string, queue: string): readonly Spec[] {
  return [channelExchange(channel), { kind: 'binding', queue, exchange: channel, pattern: '' }]
}

export function channelExchange(channel: string): ExchangeSpec {
  return { kind: 'exchange', name: channel, type: 'fanout' }
}

export function mainQueue(queue: string, options: TopologyOptions): QueueSpec {
  const { queueType, deliveryLimit, maxLength } = options
  const spec = queueSpec(queue, {
    ...typeOf(queueType),
    // For messages that the server itself dead-letters. Lazaret publishes its letters there with a confirm.
    'x-dead-letter-exchange': deadLetterExchange(queue),
    'x-dead-letter-routing-key': queue,
    ...(queueType === 'quorum' ? { ...AT_LEAST_ONCE, 'x-delivery-limit': deliveryLimit } : undefined),
    ...(maxLength === undefined ? undefined : { 'x-max-length': maxLength }),
  })
  return { ...spec, isMain: true }
}

/** The queues that every queue has beside it from the start. */
export function auxiliarySpecs(queue: string, options: TopologyOptions): readonly Spec[] {
  const exchange = deadLetterExchange(queue)
  const letters = options.deadLetterQueue(queue)
  return [
    { kind: 'exchange', name: exchange, type: 'direct' },
    lettersQueue(letters, options),
    { kind: 'binding', queue: letters, exchange, pattern: queue },
    // The queue of suspects has no limit, because its messages were in the main queue before.
    { ...mainQueue(queue, { ...options, maxLength: undefined }), name: suspectsQueue(queue), isMain: false },
  ]
}

/** The queues that the order of keys needs. */
export function orderedSpecs(channel: string, queue: string, options: TopologyOptions): readonly Spec[] {
  const { queueType } = options
  const limit = queueType === 'quorum' ? UNLIMITED_DELIVERIES : undefined
  const held = { ...typeOf(queueType), ...limit }
  return [
    queueSpec(ownerQueue(queue), { ...held, 'x-single-active-consumer': true }),
    queueSpec(heldQueue(queue), held),
    unblockSpec(channel),
    { kind: 'binding', queue: heldQueue(queue), exchange: unblockExchange(channel), pattern: '' },
  ]
}

export function unblockSpec(channel: string): ExchangeSpec {
  return { kind: 'exchange', name: unblockExchange(channel), type: 'fanout' }
}

/** Declared when the first letter of its category is quarantined: most queues never need one. */
export function quarantineSpecs(
  queue: string,
  category: Category,
  options: TopologyOptions,
): readonly Spec[] {
  const pattern = quarantineKey(queue, category)
  return besideLetters(queue, quarantineQueue(options.deadLetterQueue(queue), category), pattern, options)
}

/** Declared when the first letter of its category is kept. */
export function categorySpecs(queue: string, category: Category, options: TopologyOptions): readonly Spec[] {
  const name = categoryQueue(options.deadLetterQueue(queue), category)
  return besideLetters(queue, name, categoryKey(queue, category), options)
}

function besideLetters(
  queue: string,
  name: string,
  pattern: string,
  options: TopologyOptions,
): readonly Spec[] {
  const exchange = deadLetterExchange(queue)
  return [
    { kind: 'exchange', name: exchange, type: 'direct' },
    lettersQueue(name, options),
    { kind: 'binding', queue: name, exchange, pattern },
  ]
}

/**
 * One queue for each delay. An expired message returns to its own queue. It is always a quorum queue, because a classic
 * queue that fails loses messages during their return.
 */
export function retrySpec(queue: string, stepMs: number): QueueSpec {
  return queueSpec(retryQueue(queue, stepMs), {
    ...typeOf('quorum'),
    'x-message-ttl': stepMs,
    'x-dead-letter-exchange': '',
    'x-dead-letter-routing-key': queue,
    ...AT_LEAST_ONCE,
  })
}

/**
 * The queues of dead letters, with those of the categories and of the quarantine. Letters of an earlier setting of
 * `deadLetterQueues` count too, so all of them are looked for.
 */
export function letterQueues(letters: string): readonly string[] {
  return [
    letters,
    ...CATEGORIES.map(category => categoryQueue(letters, category)),
    ...CATEGORIES.map(category => quarantineQueue(letters, category)),
  ]
}

/** All queues and exchanges that can belong to a queue, for users who declare them in advance. */
export function allSpecs(queue: string, channel: string, options: TopologyOptions): readonly Spec[] {
  return [
    mainQueue(queue, options),
    ...channelSpecs(channel, queue),
    ...auxiliarySpecs(queue, options),
    ...(options.deadLetterQueues === 'by-category'
      ? CATEGORIES.flatMap(category => categorySpecs(queue, category, options))
      : []),
    ...CATEGORIES.flatMap(category => quarantineSpecs(queue, category, options)),
    ...options.retryStepsMs.map(stepMs => retrySpec(queue, stepMs)),
  ]
}

/** Without this the server may lose a message between its expiry and its next queue. */
const AT_LEAST_ONCE = { 'x-dead-letter-strategy': 'at-least-once', 'x-overflow': 'reject-publish' }

/** From RabbitMQ 4.0 on the default limit would drop a letter after 20 deliveries. */
const UNLIMITED_DELIVERIES = { 'x-delivery-limit': 1_000_000 }

function lettersQueue(name: string, options: TopologyOptions): QueueSpec {
  const { queueType, deadLetterTtlMs, deadLetterMaxLength } = options
  const ttl = deadLetterTtlMs === undefined ? undefined : { 'x-message-ttl': deadLetterTtlMs }
  const limit = queueType === 'quorum' ? UNLIMITED_DELIVERIES : undefined
  // A full queue would otherwise drop its oldest letter.
  const length =
    deadLetterMaxLength === undefined
      ? undefined
      : { 'x-max-length': deadLetterMaxLength, 'x-overflow': 'reject-publish' }
  return queueSpec(name, { ...typeOf(queueType), ...limit, ...ttl, ...length })
}

/** Classic is the default of the server. An explicit type would make the queue differ from existing ones. */
function typeOf(type: 'quorum' | 'classic'): Record<string, string> {
  return type === 'quorum' ? { 'x-queue-type': 'quorum' } : {}
}

function queueSpec(name: string, args: QueueOptions['arguments']): QueueSpec {
  return { kind: 'queue', name, isMain: false, options: { durable: true, arguments: args } }
}
