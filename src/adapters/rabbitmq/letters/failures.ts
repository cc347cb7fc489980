import type { FailureCache } from '../../../adapter-kit/collecting/failure-cache.ts'
import { countText, readMassTransitFault, rootCause } from '../../../adapter-kit/collecting/foreign-faults.ts'
import { isPlainObject } from '../../../core/event/plain.ts'
import type { Failure } from '../../../core/failure/failure.ts'
import { countOf, textOf } from '../broker/wire/headers.ts'
import type { AmqpHeaders } from '../connection/amqp.ts'

/** The failure of a message: that which a framework wrote on it, or the reason of the server. */
export function failureOf(
  failures: FailureCache,
  death: Death | undefined,
  fault: Fault | undefined,
): Failure | undefined {
  if (fault !== undefined) {
    const { error: name, message, stack } = fault
    return failures.of({ name, message, stack })
  }
  if (death === undefined) return undefined
  return failures.of({ name: 'DeadLettered', message: describeDeath(death), code: death.reason })
}

/** One entry of `x-death`: the server moved the message out of a queue. */
export interface Death {
  readonly queue: string
  /** rejected, expired, maxlen or delivery_limit. */
  readonly reason: string
  readonly count: number
  /** The time, in whole seconds. */
  readonly at: number | undefined
  /** The exchange that routed the message to that queue. */
  readonly exchange: string
  readonly routingKey: string
}

const MAX_READ = 20

/** The entries of the server, the latest first. */
export function readDeaths(headers: AmqpHeaders): readonly Death[] {
  const deaths = headers['x-death']
  if (!Array.isArray(deaths)) return []
  return deaths.slice(0, MAX_READ).flatMap(readDeath)
}

function readDeath(value: unknown): readonly Death[] {
  if (!isPlainObject(value)) return []
  const entry = value as AmqpHeaders
  const queue = textOf(entry['queue'])
  if (queue === undefined) return []
  const keys = entry['routing-keys']
  return [
    {
      queue,
      reason: textOf(entry['reason']) ?? 'unknown',
      count: countOf(entry['count']) || 1,
      at: secondsOf(entry['time']),
      exchange: textOf(entry['exchange']) ?? '',
      routingKey: (Array.isArray(keys) ? textOf(keys[0]) : undefined) ?? '',
    },
  ]
}

/** amqplib >=2.0 <3 reads a timestamp in a header as an object with a `value`. */
function secondsOf(value: unknown): number | undefined {
  const seconds = typeof value === 'number' ? value : (value as { readonly value?: unknown } | null)?.value
  return typeof seconds === 'number' && Number.isSafeInteger(seconds) && seconds > 0
    ? seconds * 1_000
    : undefined
}

const DEATH_TEXTS: Readonly<Record<string, string>> = {
  rejected: 'was rejected from queue',
  expired: 'expired in queue',
  maxlen: 'was pushed out of the full queue',
  delivery_limit: 'was delivered too often from queue',
}

function describeDeath({ reason, queue }: Death): string {
  return `${DEATH_TEXTS[reason] ?? `was dead-lettered (${reason}) from queue`} ${queue}`
}

/** The failure that a framework wrote on a message. */
export interface Fault {
  readonly writtenBy: 'spring' | 'masstransit' | 'nservicebus'
  readonly error: string
  readonly message: string
  readonly stack: string | undefined
  readonly at: number | undefined
  /** The queue whose consumer gave up. */
  readonly queue: string | undefined
  readonly exchange?: string | undefined
  readonly routingKey?: string | undefined
  readonly attempts: number
}

/**
 * Headers that describe the failure. The letter keeps them, and a replay does not send them: the next failure writes its
 * own.
 */
const FAULT_HEADERS =
  /^(?:x-exception-(?:stacktrace|message)|x-original-(?:exchange|routingKey)|MT-(?:Reason|Fault-.*)|NServiceBus\.(?:ExceptionInfo\..*|FailedQ|TimeOfFailure|FLRetries|Retries(?:\.Timestamp)?))$/

export function isFaultHeader(header: string): boolean {
  return FAULT_HEADERS.test(header)
}

export function readFault(headers: AmqpHeaders): Fault | undefined {
  return (
    readSpringFault(headers) ??
    readMassTransitFault(name => wordOf(headers[name])) ??
    readNServiceBusFault(headers)
  )
}

/** Spring AMQP's RepublishMessageRecoverer, and Spring Cloud Stream with `republishToDlq`. */
function readSpringFault(headers: AmqpHeaders): Fault | undefined {
  const stack = textOf(headers['x-exception-stacktrace'])
  const message = textOf(headers['x-exception-message'])
  if (stack === undefined && message === undefined) return undefined
  const cause = rootCause(stack ?? '')
  return {
    writtenBy: 'spring',
    error: cause.error,
    message: message || cause.message,
    stack,
    at: undefined,
    queue: undefined,
    exchange: textOf(headers['x-original-exchange']),
    routingKey: textOf(headers['x-original-routingKey']),
    attempts: 1,
  }
}

/** Reads a message that NServiceBus moved to its error queue, which many endpoints share. */
function readNServiceBusFault(headers: AmqpHeaders): Fault | undefined {
  const info = (name: string) => textOf(headers[`NServiceBus.ExceptionInfo.${name}`])
  const error = info('ExceptionType')
  const failedQueue = textOf(headers['NServiceBus.FailedQ'])
  if (error === undefined && failedQueue === undefined) return undefined
  return {
    writtenBy: 'nservicebus',
    error: error ?? 'Exception',
    message: info('Message') ?? '',
    stack: info('StackTrace'),
    at: wireTime(textOf(headers['NServiceBus.TimeOfFailure'])),
    // On other transports a machine's name comes behind the queue's.
    queue: failedQueue?.split('@', 1)[0] || undefined,
    attempts: countText(wordOf(headers['NServiceBus.FLRetries'])) + 1,
  }
}

/** `2014-11-11 02:26:58:000462 Z` */
function wireTime(text: string | undefined): number | undefined {
  const [, day, time, fraction = ''] =
    /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d):(\d{3})\d{0,4} Z$/.exec(text ?? '') ?? []
  if (day === undefined) return undefined
  const ms = Date.parse(`${day}T${time}.${fraction}Z`)
  return Number.isNaN(ms) ? undefined : ms
}

/** Numbers come as numbers or as texts of them. */
function wordOf(value: unknown): string | undefined {
  return typeof value === 'number' ? String(value) : textOf(value)
}
