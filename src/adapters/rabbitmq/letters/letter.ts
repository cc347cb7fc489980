import { hash } from 'node:crypto'
import type { FailureCache } from '../../../adapter-kit/collecting/failure-cache.ts'
import { channelName, withoutEnding } from '../../../adapter-kit/collecting/names.ts'
import { createLetter } from '../../../core/dead-letter/create.ts'
import { letterId } from '../../../core/dead-letter/identity.ts'
import type { DeadLetter, Origin } from '../../../core/dead-letter/letter.ts'
import { isChannelName } from '../../../core/event/channel.ts'
import { checkEvent } from '../../../core/event/check.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { changesNumbers } from '../../../core/event/exact-numbers.ts'
import {
  MAX_ID_BYTES,
  MAX_IDEMPOTENCY_KEY_BYTES,
  MAX_TYPE_BYTES,
  WIDEST_EVENT_LIMITS,
} from '../../../core/event/limits.ts'
import { type EventReplay, REPLAY_HEADERS, replayOf } from '../../../core/event/replay-headers.ts'
import { MAX_TIME_MS } from '../../../core/event/uuid.ts'
import { contentOf, decode, fitting } from '../broker/wire/event-codec.ts'
import { APP_ID, isReserved, OWN, textOf } from '../broker/wire/headers.ts'
import { readLetter } from '../broker/wire/letter.ts'
import { readExchange, readLog } from '../broker/wire/message-log.ts'
import type { AmqpHeaders, AmqpMessage } from '../connection/amqp.ts'
import type { Route } from '../options.ts'
import { type Death, type Fault, failureOf, readDeaths, readFault } from './failures.ts'
import { type CollectedHeaders, collectedHeaders, keptProperties } from './returned-message.ts'

/** The queue and the time at which a message was found. */
interface CollectionContext {
  /** The collector's name. */
  readonly broker: string
  readonly queue: string
  readonly now: number
  readonly failures: FailureCache
}

interface Collected {
  readonly letter: DeadLetter
  /** False if the time of the failure is unknown. Then it is the time of the collection. */
  readonly isTimeKnown: boolean
}

/** The letter for a message in a dead-letter queue, no matter which program put it there. Never throws. */
export function collect(message: AmqpMessage, context: CollectionContext): Collected {
  const own = ownLetter(message)
  if (own === undefined) return foreignLetter(message, context)
  const origin = { ...own.origin, broker: context.broker, collectedFrom: context.queue }
  return { letter: { ...own, origin }, isTimeKnown: true }
}

/** A message that claims to be a letter of Lazaret and cannot be read counts as an ordinary message. */
function ownLetter(message: AmqpMessage): DeadLetter | undefined {
  try {
    return readLetter(message)
  } catch {
    return undefined
  }
}

function foreignLetter(message: AmqpMessage, { broker, queue, now, failures }: CollectionContext): Collected {
  const headers = message.properties.headers ?? {}
  const deaths = readDeaths(headers)
  const fault = readFault(headers)
  const source = sourceOf(message, queue, deaths, fault)
  const times = [...deaths.map(({ at }) => at), fault?.at].filter(at => at !== undefined)
  const collected = collectedHeaders(message.properties)
  const event = collectedEvent(message, source, deaths, times[0] ?? now, collected.texts)
  const handler = source.handler
  const replay = replayOfLetter(event, () => letterId(event.channel, handler, event))
  const letter = createLetter({
    event,
    handler,
    reason: deaths[0]?.reason === 'expired' && fault === undefined ? 'expired' : 'collected',
    at: times.length === 0 ? now : Math.max(...times),
    failure: failureOf(failures, deaths[0], fault),
    attempts: readLog(headers).history,
    attemptCount: attemptsOf(headers, deaths, fault),
    origin: {
      broker,
      brokerKind: 'rabbitmq',
      queue: source.queue,
      exchange: source.exchange,
      routingKey: source.routingKey,
      collectedFrom: queue,
      ...(source.isOwn
        ? undefined
        : {
            writtenBy: fault?.writtenBy ?? 'other',
            ...keptProperties(message.properties),
            ...headerOrigin(collected, event),
          }),
    },
    replay: replay?.attempt,
    replayId: replay?.replayId,
    // Every publisher can write these headers, so the saver compares them with the stored letter.
    isUnverified: replay !== undefined,
    detail:
      deaths.length === 0 ? undefined : { deaths: deaths.map(death => ({ ...death, at: death.at ?? null })) },
  })
  const firstFailedAt = Math.min(letter.cycle.firstFailedAt, ...times)
  return {
    letter: { ...letter, cycle: { ...letter.cycle, firstFailedAt } },
    isTimeKnown: times.length > 0,
  }
}

/** A message that could not become an event was kept without its headers. */
function headerOrigin({ origin, texts }: CollectedHeaders, event: LazaretEvent): Origin {
  const areLost = Object.keys(texts).length > 0 && Object.keys(event.headers).length === 0
  return areLost ? { unkeptHeaders: 'its headers are not valid for an event; send it manually' } : origin
}

/**
 * The number of the letter's replay. A replay that also reached another queue does not belong to the letter of that
 * queue.
 */
function replayOfLetter(event: LazaretEvent, idOfThis: () => string): EventReplay | undefined {
  const replay = replayOf(event)
  return replay?.letterId !== undefined && replay.letterId === idOfThis() ? replay : undefined
}

function attemptsOf(headers: AmqpHeaders, deaths: readonly Death[], fault: Fault | undefined): number {
  const rejections = deaths.filter(({ reason, queue }) => reason === 'rejected' && queue === deaths[0]?.queue)
  const rejected = rejections.reduce((sum, { count }) => sum + count, 0)
  return Math.max(rejected, fault?.attempts ?? 0, readLog(headers).started)
}

const UNNAMED = 'message'
const ID_DIGITS = 32

/** The event of a dead-lettered message. It can always be stored. */
function collectedEvent(
  message: AmqpMessage,
  { channel, routingKey, isOwn }: LetterSource,
  deaths: readonly Death[],
  failedAt: number,
  texts: Readonly<Record<string, string>>,
): LazaretEvent {
  const own = isOwn ? decode(message, channel, {}) : undefined
  if (own !== undefined && !('raw' in own)) return own
  const { properties } = message
  const headers = properties.headers ?? {}
  const id = fitting(properties.messageId, MAX_ID_BYTES) ?? derivedId(message, deaths)
  const event: LazaretEvent = {
    v: 1,
    id,
    type: fitting(properties.type, MAX_TYPE_BYTES) ?? fitting(routingKey, MAX_TYPE_BYTES) ?? UNNAMED,
    channel,
    key: undefined,
    idempotencyKey: fitting(textOf(headers[REPLAY_HEADERS.idempotencyKey]), MAX_IDEMPOTENCY_KEY_BYTES) ?? id,
    occurredAt: sentAt(properties.timestamp) ?? failedAt,
    expiresAt: undefined,
    source: undefined,
    headers: texts,
    payload: collectedPayload(message),
  }
  if (checkEvent(event, WIDEST_EVENT_LIMITS).length === 0) return event
  return { ...event, headers: {}, payload: new Uint8Array(message.content) }
}

/** AMQP uses seconds. Some programs write milliseconds, which would be far in the future. */
function sentAt(timestamp: number | undefined): number | undefined {
  if (timestamp === undefined || !(timestamp > 0)) return undefined
  const ms = Math.floor(timestamp > 100_000_000_000 ? timestamp : timestamp * 1_000)
  return ms <= MAX_TIME_MS ? ms : undefined
}

/**
 * The id for a message without one, made of everything that a second delivery does not change. Two equal messages that
 * died in the same second and queue cannot be distinguished, and become one letter.
 */
function derivedId({ content, properties, fields }: AmqpMessage, deaths: readonly Death[]): string {
  const { type, timestamp, correlationId, headers = {} } = properties
  const said = Object.entries(headers).filter(([name]) => !isReserved(name))
  const { exchange, routingKey } = fields
  const told = JSON.stringify([deaths, exchange, routingKey, type, timestamp, correlationId, said])
  return `amqp-${hash('sha256', Buffer.concat([Buffer.from(told), content])).slice(0, ID_DIGITS)}`
}

/** The queue that failed, and the route back to it. */
interface LetterSource extends Route {
  readonly channel: string
  readonly handler: string
  readonly queue: string
  /** Lazaret published the message; only the letter is another's. */
  readonly isOwn: boolean
}

/**
 * Finds the queue that failed: the one that the server took the message from, or the one that the framework names, or the
 * name of the dead-letter queue without its suffix. The message returns on its original route. If that is unknown, it
 * goes directly to the queue.
 */
function sourceOf(
  message: AmqpMessage,
  foundIn: string,
  [death]: readonly Death[],
  fault: Fault | undefined,
): LetterSource {
  const headers = message.properties.headers ?? {}
  const isOwn = message.properties.appId === APP_ID
  const failed = fault?.queue ?? death?.queue ?? withoutEnding(foundIn)
  const channel = isOwn ? ownChannel(headers, death) : undefined
  if (channel !== undefined && isChannelName(channel)) {
    const queue = failed.replace(/\.suspects$/, '')
    const handler = queue.startsWith(`${channel}.`) ? queue.slice(channel.length + 1) : channel
    return { channel, handler, queue, ...routeBack(queue, death, fault), isOwn }
  }
  return {
    channel: channelName(failed),
    handler: failed,
    queue: failed,
    ...routeBack(failed, death, fault),
    isOwn: false,
  }
}

/** Without other information the message was published to the exchange of its channel. */
function ownChannel(headers: AmqpHeaders, death: Death | undefined): string | undefined {
  return textOf(headers[OWN.channel]) ?? readExchange(headers) ?? death?.exchange
}

function routeBack(queue: string, death: Death | undefined, fault: Fault | undefined): Route {
  if (fault?.exchange !== undefined) return { exchange: fault.exchange, routingKey: fault.routingKey ?? '' }
  if (death !== undefined && death.queue === queue && fault?.queue === undefined)
    return { exchange: death.exchange, routingKey: death.routingKey }
  return { exchange: '', routingKey: queue }
}

/**
 * The payload as it can be shown and patched. It is left as bytes when it claims to be JSON but is not, and when
 * reading and writing it would change a number: a replay must send the original.
 */
function collectedPayload(message: AmqpMessage): unknown {
  const { content } = message
  try {
    const { payload, text } = contentOf(message)
    const isJson = text !== undefined && typeof payload !== 'string'
    return isJson && changesNumbers(text) ? new Uint8Array(content) : payload
  } catch {
    return new Uint8Array(content)
  }
}
