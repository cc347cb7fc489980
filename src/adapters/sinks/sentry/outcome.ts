import { TransientError } from '../../../core/failure/signals.ts'
import { SinkRefusedError, SinkUnreachableError } from '../errors.ts'
import type { Delivery } from './deliveries.ts'

const TOO_MANY_REQUESTS = 429

/** The error of a delivery; undefined if the event arrived, or the client chose not to send it. */
export function deliveryError(
  subject: string,
  delivery: Delivery,
  limitedMs: number | undefined,
): Error | undefined {
  if (delivery.kind === 'filtered') return undefined
  if (delivery.kind === 'overflow')
    return new TransientError(`${subject}: the SDK has too many events in flight; lower 'concurrency'`)
  const { statusCode: status, loss } = delivery.response
  if (status !== undefined) {
    if (status >= 200 && status < 300) return undefined
    return new SinkRefusedError({
      subject,
      status,
      delayMs: status === TOO_MANY_REQUESTS ? limitedMs : undefined,
    })
  }
  if (loss !== undefined) return new SinkUnreachableError(subject, loss)
  if (limitedMs !== undefined) return limited(subject, limitedMs)
  return new TransientError(
    `${subject}: the SDK dropped the event; check the connection, the rate limit and that the client is enabled`,
  )
}

/** Sentry asked to be left alone for a while, so nothing was sent. */
export function limited(subject: string, delayMs: number): SinkRefusedError {
  return new SinkRefusedError({
    subject,
    status: TOO_MANY_REQUESTS,
    said: 'its rate limit is still in effect',
    delayMs,
  })
}
