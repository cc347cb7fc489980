import { isPlainObject } from '../../../core/event/plain.ts'
import { classify } from '../../../core/failure/classify.ts'
import type { Failure } from '../../../core/failure/failure.ts'
import { countOf, textOf, timeOf } from '../broker/wire/headers.ts'
import type { AmqpHeaders } from '../connection/amqp.ts'

const MAX_CACHED = 1_000

/**
 * Caches the failures of messages. Many messages of a dead-letter queue have the same failure, and classifying it takes
 * longer than the rest of the reading.
 */
export class Failures {
  readonly #known = new Map<string, Failure>()

  of(death: Death | undefined, fault: Fault | undefined): Failure | undefined {
    if (fault !== undefined) {
      const { error: name, message, stack } = fault
      // The stack is left out, because its lines belong to another language. The message distinguishes the causes.
      const failure = this.#classified(name, message, undefined)
      return stack === undefined ? failure : { ...failure, stack }
    }
    if (death === undefined) return undefined
    return this.#classified('DeadLettered', describeDeath(death), death.reason)
  }

  #classified(name: string, message: string, code: string | undefined): Failure {
    const key = `${name}\n${code ?? ''}\n${message}`
    let failure = this.#known.get(key)
    if (failure === undefined) {
      const classified = classify({ name, message, code })
      // The fingerprint is computed on access. A copy must contain its value.
      failure = { ...classified, fingerprint: classified.fingerprint }
      if (this.#known.size >= MAX_CACHED) this.#known.clear()
      this.#known.set(key, failure)
    }
    return failure
  }
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
  return readSpringFault(headers) ?? readMassTransitFault(headers) ?? readNServiceBusFault(headers)
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

const JAVA_LINE = /^(?:Caused by: )?((?:[\w$]+\.)+[\w$]+)(?:: (.*))?$/

/** The exception of the listener only wraps that of the application, so the last cause counts. */
function rootCause(stack: string): { readonly error: string; readonly message: string } {
  const lines = stack.split('\n').map(line => line.trimEnd())
  const causes = lines.filter((line, index) => index === 0 || line.startsWith('Caused by: '))
  const [, error, message] = JAVA_LINE.exec(causes.at(-1) ?? '') ?? []
  return { error: error ?? 'Exception', message: message ?? '' }
}

/** Reads a message that MassTransit moved to `QUEUE_error`, or for another reason to `QUEUE_skipped`. */
function readMassTransitFault(headers: AmqpHeaders): Fault | undefined {
  const reason = textOf(headers['MT-Reason'])
  const error = textOf(headers['MT-Fault-ExceptionType'])
  if (reason === undefined && error === undefined) return undefined
  return {
    writtenBy: 'masstransit',
    error: error ?? 'MassTransit',
    message: textOf(headers['MT-Fault-Message']) ?? REASONS[reason ?? ''] ?? `moved here: ${reason}`,
    stack: textOf(headers['MT-Fault-StackTrace']),
    at: timeOf(headers['MT-Fault-Timestamp']),
    queue: lastOfPath(textOf(headers['MT-Fault-InputAddress'])),
    attempts: numberOf(headers['MT-Fault-RetryCount']) + 1,
  }
}

const REASONS: Readonly<Record<string, string>> = {
  'dead-letter': 'no consumer of the endpoint takes messages of this type',
}

/** `rabbitmq://host/vhost/queue?durable=true` */
function lastOfPath(address: string | undefined): string | undefined {
  const [path = ''] = (address ?? '').split('?', 1)
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (name === '') return undefined
  try {
    return decodeURIComponent(name)
  } catch {
    return name
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
    attempts: numberOf(headers['NServiceBus.FLRetries']) + 1,
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
function numberOf(value: unknown): number {
  return countOf(typeof value === 'string' ? Number(value) : value)
}
