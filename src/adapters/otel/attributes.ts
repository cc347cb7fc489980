// The names of the semantic conventions for messaging (1.45), and our own beside them.
import type { Attributes, Span } from '@opentelemetry/api'
import { capText } from '../../core/dead-letter/caps.ts'
import { masksOfLetter } from '../../core/dead-letter/event-masks.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import { reasonText } from '../../core/dead-letter/reason.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { replayOf } from '../../core/event/replay-headers.ts'
import type { Failure } from '../../core/failure/failure.ts'
import { SpanStatusCode } from './api.ts'

export const MESSAGING = {
  system: 'messaging.system',
  operationName: 'messaging.operation.name',
  operationType: 'messaging.operation.type',
  destination: 'messaging.destination.name',
  consumerGroup: 'messaging.consumer.group.name',
  messageId: 'messaging.message.id',
  batchCount: 'messaging.batch.message_count',
} as const

export const OWN = {
  eventType: 'lazaret.event.type',
  attempt: 'lazaret.attempt',
  attempts: 'lazaret.attempts',
  takenBack: 'lazaret.attempt.taken_back',
  call: 'lazaret.call',
  delayMs: 'lazaret.wait.delay_ms',
  reason: 'lazaret.dead_letter.reason',
  letterId: 'lazaret.dead_letter.id',
  category: 'lazaret.failure.category',
  code: 'lazaret.failure.code',
  fingerprint: 'lazaret.failure.fingerprint',
  retryable: 'lazaret.failure.retryable',
  replay: 'lazaret.replay.number',
  replayId: 'lazaret.replay.id',
} as const

const ERROR_TYPE = 'error.type'
/** A status is a line to read; the letter has the whole message. */
const MAX_MESSAGE_BYTES = 1_024

/** Attributes that identify an event, without its payload. */
export function eventAttributes(event: LazaretEvent): Attributes {
  return { [MESSAGING.messageId]: event.id, [OWN.eventType]: event.type, ...replayAttributes(event) }
}

/** Attributes for samplers at the start of a span, because a sampler may want to keep every replay. */
export function replayAttributes(event: LazaretEvent): Attributes {
  const replay = replayOf(event)
  if (replay === undefined) return {}
  const { attempt, replayId, letterId } = replay
  return {
    [OWN.replay]: attempt,
    ...(replayId === undefined ? {} : { [OWN.replayId]: replayId }),
    ...(letterId === undefined ? {} : { [OWN.letterId]: letterId }),
  }
}

export function recordFailure(span: Span, failure: Failure, masks: Masks): void {
  const { name, message, code, category, retryable, fingerprint } = failure
  span.setAttributes({
    [ERROR_TYPE]: masks.maskText(name),
    [OWN.category]: category,
    [OWN.retryable]: retryable,
    [OWN.fingerprint]: fingerprint.id,
    ...(code === undefined ? {} : { [OWN.code]: masks.maskText(code) }),
  })
  const told = capText(masks.maskText(message), MAX_MESSAGE_BYTES)
  span.setStatus({ code: SpanStatusCode.ERROR, message: told })
}

export function recordDeadLetter(span: Span, letter: DeadLetter, masks: Masks): void {
  const { id, cycle } = letter
  const { reason, category, attemptCount, failure } = cycle
  span.setAttributes({
    [OWN.letterId]: id,
    [OWN.reason]: reason,
    [OWN.category]: category,
    [OWN.attempts]: attemptCount,
    [ERROR_TYPE]: failure === undefined ? reason : masksOfLetter(letter, masks).maskText(failure.name),
    ...(failure === undefined ? {} : { [OWN.fingerprint]: failure.fingerprint.id }),
  })
  span.setStatus({ code: SpanStatusCode.ERROR, message: reasonText(reason) })
}
