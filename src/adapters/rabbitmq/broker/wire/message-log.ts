import { decodeAttempts, isAttempt } from '../../../../adapter-kit/delivery/attempt-history.ts'
import { type AttemptLog, EMPTY_LOG } from '../../../../adapter-kit/delivery/tracked-delivery.ts'
import { keepFirstAndLatest } from '../../../../core/dead-letter/caps.ts'
import type { AttemptRecord, Origin } from '../../../../core/dead-letter/letter.ts'
import { isPlainObject } from '../../../../core/event/plain.ts'
import type { AmqpHeaders, AmqpMessage, AmqpProperties } from '../../connection/amqp.ts'
import {
  countOf,
  dropLargestHeaders,
  headerBytes,
  MAX_HEADER_BYTES,
  memoizeLast,
  OWN,
  textOf,
  timeOf,
  timeText,
} from './headers.ts'
import { wireHeaders } from './table.ts'

/** The attempts of an event, as its message carries them: RabbitMQ keeps no record that could be changed in place. */
export interface MessageLog extends AttemptLog {
  /** The message was open, perhaps only waiting, when a process died: it is to run alone until an attempt has ended. */
  readonly isSuspected: boolean
}

const EMPTY: MessageLog = Object.freeze({ ...EMPTY_LOG, isSuspected: false })
const SUSPECTED: MessageLog = Object.freeze({ ...EMPTY_LOG, isSuspected: true })

/** The stored form of a log. */
type StoredLog = Partial<
  Readonly<Record<keyof MessageLog | 'exchange' | 'routingKey' | 'notBefore' | 'waitMs', unknown>>
>

const NOTHING: StoredLog = Object.freeze({})

/** Each message asks for its log several times in a row. */
const parseStoredLog = memoizeLast((text: string): StoredLog => {
  try {
    const carried: unknown = JSON.parse(text)
    return isPlainObject(carried) ? carried : NOTHING
  } catch {
    return NOTHING
  }
})

function storedLogOf(headers: AmqpHeaders): StoredLog {
  const text = textOf(headers[OWN.log])
  return text === undefined ? NOTHING : parseStoredLog(text)
}

export function readLog(headers: AmqpHeaders): MessageLog {
  const carried = storedLogOf(headers)
  const started = countOf(carried.started)
  const isSuspected = carried.isSuspected === true
  if (started === 0) return isSuspected ? SUSPECTED : EMPTY
  const ended = Math.min(started, countOf(carried.ended))
  const attempts = ended > 0 && Array.isArray(carried.history) ? carried.history.filter(isAttempt) : []
  return { started, ended, history: decodeAttempts(attempts, undefined), isSuspected }
}

/** The message ran alone when the process died. The first time, what made it a suspect is put down to it as well. */
export function addCrash(log: MessageLog): MessageLog {
  const crashes = log.started === log.ended ? 2 : 1
  return { ...log, started: log.started + crashes }
}

/**
 * The original destination of the message. A message that Lazaret published again would seem to come from the default
 * exchange.
 */
export function readOrigin(broker: string, queue: string, { fields, properties }: AmqpMessage): Origin {
  const { exchange, routingKey } = storedLogOf(properties.headers ?? {})
  const isCarried = typeof exchange === 'string' && typeof routingKey === 'string'
  return {
    broker,
    queue,
    exchange: isCarried ? exchange : fields.exchange,
    routingKey: isCarried ? routingKey : fields.routingKey,
  }
}

/** The exchange it was published to at first, if it was sent on since. */
export function readExchange(headers: AmqpHeaders): string | undefined {
  const { exchange } = storedLogOf(headers)
  return typeof exchange === 'string' ? exchange : undefined
}

/**
 * The remaining wait of a message at its delivery. The wait is stored as a length, so that hosts with different clocks
 * agree, and a clock that is set back delays nothing. Messages of older versions only have the time.
 */
export function readWaitMs(headers: AmqpHeaders, now: number): number {
  const { waitMs } = storedLogOf(headers)
  return typeof waitMs === 'number' ? Math.max(0, waitMs) : untilNotBefore(headers, now)
}

/** The same for messages that wait in a process and not in a queue that expires: the time since the writing counts. */
export function readHeldWaitMs(headers: AmqpHeaders, now: number): number {
  return Math.min(readWaitMs(headers, now), untilNotBefore(headers, now))
}

function untilNotBefore(headers: AmqpHeaders, now: number): number {
  return Math.max(0, (timeOf(storedLogOf(headers).notBefore) ?? 0) - now)
}

/** The wait of a message: `waitMs` counts from its next delivery, `notBefore` is the time by the clock of this process. */
export interface Wait {
  readonly waitMs: number
  readonly notBefore: number
}

/** The same message for publishing again. Only its log differs. */
export function withLog(
  message: AmqpMessage,
  origin: Origin,
  log: MessageLog,
  wait: Wait | undefined,
): AmqpProperties {
  const { [OWN.log]: _, [OWN.place]: __, ...old } = withoutRoutingHeaders(message.properties)
  const headers = dropLargestHeaders(old)
  const { started, ended, isSuspected } = log
  const { exchange = '', routingKey = '' } = origin
  const carried = {
    exchange,
    routingKey,
    started,
    ended,
    isSuspected: isSuspected || undefined,
    waitMs: wait?.waitMs,
    notBefore: wait === undefined ? undefined : timeText(wait.notBefore),
  }
  headers[OWN.log] = fittingText(carried, log.history, MAX_HEADER_BYTES - headerBytes(headers))
  // The message's own time to live would restart in every queue where it waits, and end it there. The user id of the
  // first sender is not ours, and the server refuses a message in another user's name.
  return { ...message.properties, expiration: undefined, userId: undefined, headers, deliveryMode: 2 }
}

/** Counts are never given up; of the attempts themselves as many are kept as there is room for. */
function fittingText(carried: StoredLog, history: readonly AttemptRecord[], room: number): string {
  if (history.length === 0) return JSON.stringify(carried)
  const text = JSON.stringify({ ...carried, history })
  if (Buffer.byteLength(text) < room) return text
  const fewer = history.length === 1 ? [] : keepFirstAndLatest(history, Math.max(1, history.length >> 1))
  return fittingText(carried, fewer, room)
}

const ROUTED = ['x-death', 'x-delivery-count', 'CC', 'BCC']

/**
 * Removes the entries of the server about Lazaret's own retry steps, because they would grow with every step. Also
 * removes the other destinations of the message, because they have it already.
 */
function withoutRoutingHeaders(properties: AmqpProperties): Record<string, unknown> {
  const { headers = {} } = properties
  const wire = wireHeaders(properties)
  if (!ROUTED.some(name => headers[name] !== undefined)) return { ...wire }
  const kept = Object.entries(wire).filter(
    ([name]) => !/^(?:x-(?:death|delivery-count|(?:first|last)-death-)|B?CC$)/.test(name),
  )
  const all = Array.isArray(headers['x-death']) ? headers['x-death'] : []
  const deaths = all.filter(isForeign)
  const told = deaths.length === all.length ? wire['x-death'] : deaths
  return { ...Object.fromEntries(kept), ...(deaths.length === 0 ? undefined : { 'x-death': told }) }
}

function isForeign(death: unknown): boolean {
  const queue = (death as { readonly queue?: unknown } | null)?.queue
  return typeof queue === 'string' && !/\.retry\.\d+(?:ms|s|m|h)$/.test(queue)
}
