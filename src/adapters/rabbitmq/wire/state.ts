import { DEFAULT_MAX_ATTEMPTS_KEPT, keepFirstAndLatest } from '../../../core/dead-letter/caps.ts'
import type { AttemptRecord, Origin } from '../../../core/dead-letter/letter.ts'
import type { AmqpHeaders, AmqpMessage, AmqpProperties } from '../amqp.ts'
import {
  countOf,
  headerBytes,
  leavingRoom,
  MAX_HEADER_BYTES,
  OWN,
  textOf,
  timeOf,
  timeText,
} from './headers.ts'

/** What a message carries of its own past: RabbitMQ keeps no record that could be changed in place. */
export interface Past {
  readonly started: number
  readonly ended: number
  readonly history: readonly AttemptRecord[]
  /** It was open, perhaps only waiting, when a process died: it is to run alone until an attempt has ended. */
  readonly isSuspected: boolean
}

const NO_ATTEMPTS: readonly AttemptRecord[] = Object.freeze([])
export const NO_PAST: Past = Object.freeze({ started: 0, ended: 0, history: NO_ATTEMPTS, isSuspected: false })
const SUSPECTED: Past = Object.freeze({ ...NO_PAST, isSuspected: true })

export function readPast(headers: AmqpHeaders): Past {
  const started = countOf(headers[OWN.started])
  const isSuspected = headers[OWN.suspected] === true
  if (started === 0) return isSuspected ? SUSPECTED : NO_PAST
  const ended = Math.min(started, countOf(headers[OWN.ended]))
  const history = ended === 0 ? NO_ATTEMPTS : readHistory(textOf(headers[OWN.history]))
  return { started, ended, history, isSuspected }
}

/** It ran alone when the process died. The first time, what made it a suspect is put down to it as well. */
export function addCrash(past: Past): Past {
  const crashes = past.started === past.ended ? 2 : 1
  return { ...past, started: past.started + crashes }
}

/** An attempt that ended, however, took nobody down. */
export function addEnded(past: Past, more: readonly AttemptRecord[]): Past {
  if (more.length === 0) return past
  const { started, ended, history } = past
  return {
    started: Math.max(started, ended + more.length),
    ended: ended + more.length,
    history: keepFirstAndLatest([...history, ...more], DEFAULT_MAX_ATTEMPTS_KEPT),
    isSuspected: false,
  }
}

/** Where it was published to at first. Sent on by ourselves it would seem to come from the default exchange. */
export function readOrigin(broker: string, queue: string, { fields, properties }: AmqpMessage): Origin {
  const headers = properties.headers ?? {}
  const exchange = textOf(headers[OWN.exchange])
  return {
    broker,
    queue,
    exchange: exchange ?? fields.exchange,
    routingKey: exchange === undefined ? fields.routingKey : (textOf(headers[OWN.routingKey]) ?? ''),
  }
}

export function readNotBefore(headers: AmqpHeaders): number {
  return timeOf(headers[OWN.notBefore]) ?? 0
}

/** The same message, to be published again: untouched but for what it carries of its past. */
export function withPast(
  message: AmqpMessage,
  origin: Origin,
  past: Past,
  notBefore: number | undefined,
): AmqpProperties {
  const {
    [OWN.notBefore]: _,
    [OWN.history]: __,
    [OWN.suspected]: ___,
    [OWN.place]: ____,
    ...old
  } = cleaned(message.properties.headers ?? {})
  const headers = leavingRoom(old)
  headers[OWN.exchange] = origin.exchange ?? ''
  headers[OWN.routingKey] = origin.routingKey ?? ''
  headers[OWN.started] = past.started
  headers[OWN.ended] = past.ended
  if (past.isSuspected) headers[OWN.suspected] = true
  if (notBefore !== undefined) headers[OWN.notBefore] = timeText(notBefore)
  let { history } = past
  // Counts are never given up; of the attempts themselves as many are kept as there is room for.
  while (history.length > 0) {
    const text = JSON.stringify(history)
    if (headerBytes(headers) + Buffer.byteLength(text) < MAX_HEADER_BYTES) {
      headers[OWN.history] = text
      break
    }
    history = history.length === 1 ? [] : keepFirstAndLatest(history, Math.max(1, history.length >> 1))
  }
  // A time to live of its own would run anew with every step it waits in, and end it there.
  return { ...message.properties, expiration: undefined, headers, deliveryMode: 2 }
}

/** Without what the server wrote about our own retry steps: it would grow with every one of them. */
function cleaned(headers: AmqpHeaders): Record<string, unknown> {
  if (headers['x-death'] === undefined && headers['x-delivery-count'] === undefined) return { ...headers }
  const kept = Object.entries(headers).filter(
    ([name]) => !/^x-(?:death|delivery-count|(?:first|last)-death-)/.test(name),
  )
  const deaths = Array.isArray(headers['x-death']) ? headers['x-death'].filter(isForeign) : []
  return { ...Object.fromEntries(kept), ...(deaths.length === 0 ? undefined : { 'x-death': deaths }) }
}

function isForeign(death: unknown): boolean {
  const queue = (death as { readonly queue?: unknown } | null)?.queue
  return typeof queue === 'string' && !/\.retry\.\d+(?:ms|s|m|h)$/.test(queue)
}

/** An attempt has all of its fields, unset ones as undefined, which JSON leaves out. What is no record is left out. */
function readHistory(text: string | undefined): readonly AttemptRecord[] {
  try {
    const attempts: unknown = JSON.parse(text ?? '[]')
    if (!Array.isArray(attempts)) return NO_ATTEMPTS
    return attempts.filter(isAttempt).map(({ number, startedAt, endedAt, failure, delayMs }) => ({
      number,
      startedAt,
      endedAt,
      failure: failure && { ...failure, code: failure.code, stack: failure.stack },
      delayMs,
    }))
  } catch {
    return NO_ATTEMPTS
  }
}

function isAttempt(value: unknown): value is AttemptRecord {
  const { number, startedAt, failure } = (value ?? {}) as Partial<AttemptRecord>
  return (
    typeof number === 'number' &&
    typeof startedAt === 'number' &&
    (failure === undefined || typeof failure?.fingerprint === 'string')
  )
}
